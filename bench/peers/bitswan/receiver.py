"""A webhook receiver on BitSwan: WebHookSource, two processors, KafkaSink.

As they come, WebHookSource answers as soon as KafkaSink has queued the event, before Kafka has it, and answers 200 to what
a processor drops. ANSWER=queued keeps the first of the two; ANSWER=acknowledged waits for Kafka's acknowledgement. Both
refuse what is no JSON object, so that every peer does the same work.
"""

import asyncio
import datetime
import hashlib
import hmac
import json
import os
import threading

import aiohttp.web
import bspump
import bspump.http.web.source
import bspump.kafka

WAITS = os.environ.get("ANSWER", "acknowledged") == "acknowledged"
SECRET = os.environ.get("SECRET", "").encode()


class Source(bspump.http.web.source.WebHookSource):
    """Answers what the pipeline made of the event; listens on the loopback address alone."""

    async def main(self):
        app = aiohttp.web.Application(client_max_size=1024 * 1024)
        app.add_routes([aiohttp.web.post("/", self.handle_post)])
        runner = aiohttp.web.AppRunner(app, access_log=None)
        await runner.setup()
        await aiohttp.web.TCPSite(runner, "127.0.0.1", int(self.Config["port"])).start()

    async def handle_post(self, request):
        body = await request.read()
        if SECRET:
            expected = "sha256=" + hmac.new(SECRET, body, hashlib.sha256).hexdigest()
            if not hmac.compare_digest(request.headers.get("X-Hub-Signature-256", ""), expected):
                return aiohttp.web.Response(status=401)
        answer = asyncio.get_running_loop().create_future()
        await self.process(body, {"answer": answer})
        return aiohttp.web.Response(status=await answer)


class Parse(bspump.Processor):
    def process(self, context, event):
        try:
            value = json.loads(event.decode("utf-8"))
        except ValueError:
            value = None
        if not isinstance(value, dict):
            context["answer"].set_result(400)
            return None
        return value


class Enrich(bspump.Processor):
    def process(self, context, event):
        event["received_at"] = datetime.datetime.now().astimezone().isoformat(timespec="milliseconds")
        event["source"] = "webhook"
        return json.dumps(event).encode()


class QueuedSink(bspump.kafka.KafkaSink):
    """KafkaSink as it is."""

    def process(self, context, event):
        super().process(context, event)
        context["answer"].set_result(200)


class AcknowledgedSink(bspump.kafka.KafkaSink):
    """Answers by the delivery reports, which a thread collects and hands over to the loop as they gather."""

    def __init__(self, app, pipeline, connection, config):
        super().__init__(app, pipeline, connection, config=config)
        self.Reports = []
        self.Lock = threading.Lock()
        threading.Thread(target=self.poll, daemon=True).start()

    def process(self, context, event):
        answer = context["answer"]
        self.Producer.produce(
            self.Topic, value=event, on_delivery=lambda error, _: self.report(answer, 503 if error else 200)
        )

    def poll(self):
        while True:
            self.Producer.poll(1)

    def report(self, answer, status):
        with self.Lock:
            self.Reports.append((answer, status))
            first = len(self.Reports) == 1
        if first:
            self.Loop.call_soon_threadsafe(self.settle)

    def settle(self):
        with self.Lock:
            reports, self.Reports = self.Reports, []
        for answer, status in reports:
            if not answer.done():
                answer.set_result(status)


class Pipeline(bspump.Pipeline):
    def __init__(self, app, pipeline_id):
        super().__init__(app, pipeline_id)
        sink = AcknowledgedSink if WAITS else QueuedSink
        self.build(
            Source(app, self, config={"port": os.environ["PORT"], "path": "/"}),
            Parse(app, self),
            Enrich(app, self),
            sink(
                app,
                self,
                "KafkaConnection",
                config={"topic": os.environ["TOPIC"], "linger.ms": os.environ.get("LINGER", "5")},
            ),
        )


class Application(bspump.BSPumpApplication):
    def parse_arguments(self, args=None):
        super().parse_arguments(args=[])


app = Application()
pump = app.get_service("bspump.PumpService")
pump.add_connection(
    bspump.kafka.KafkaConnection(
        app,
        "KafkaConnection",
        {
            "bootstrap_servers": os.environ["BOOTSTRAP_SERVERS"],
            "acks": "all",
            "enable_idempotence": "true",
        },
    )
)
pump.add_pipeline(Pipeline(app, "webhooks"))
app.run()
