"""A consumer by confluent-kafka, with the settings of test/support/client-programs.ts."""

import json
import sys
import time

from confluent_kafka import Consumer, KafkaException, TopicPartition

settings = json.loads(sys.argv[1])
topic = settings["topic"]
group = settings.get("group")


def say(*words):
    print(*words, flush=True)


configuration = {
    "bootstrap.servers": settings["bootstrap"],
    "group.id": group or "none",
    "enable.auto.commit": False,
    "auto.offset.reset": "earliest",
    "session.timeout.ms": settings["sessionMs"],
    "heartbeat.interval.ms": 200,
}
if "instance" in settings:
    configuration["group.instance.id"] = settings["instance"]
if "sasl" in settings:
    sasl = settings["sasl"]
    configuration["sasl.mechanism"] = sasl["mechanism"]
    configuration["sasl.username"] = sasl["user"]
    configuration["sasl.password"] = sasl["password"]
if "ca" in settings:
    configuration["ssl.ca.location"] = settings["ca"]
protocol = ("sasl_" if "sasl" in settings else "") + ("ssl" if "ca" in settings else "plaintext")
configuration["security.protocol"] = protocol

consumer = Consumer(configuration)
if group is not None:
    consumer.subscribe([topic], on_assign=lambda _, partitions: partitions and say("assigned"))
elif "sinceMs" in settings:
    consumer.assign(consumer.offsets_for_times([TopicPartition(topic, 0, settings["sinceMs"])], 10))
else:
    consumer.assign([TopicPartition(topic, 0, 0)])
while True:
    message = consumer.poll(1)
    if message is None:
        continue
    if message.error():
        print(message.error(), file=sys.stderr)
        continue
    while group is not None:
        try:
            consumer.commit(message, asynchronous=False)
            break
        except KafkaException as error:
            # the broker may be away for a while
            print(error, file=sys.stderr)
            time.sleep(0.1)
    say("key", message.key().decode())
