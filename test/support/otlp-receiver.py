"""Receives OTLP/HTTP traces and writes each request as a line of JSON, as OpenTelemetry's own protobuf types read it.

PUT /answer sets the answers that follow: {"status": 503} or {"rejected": 1}.
"""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from sys import argv

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

answer = {"status": 200, "rejected": 0}


def attributes(pairs):
    return {it.key: getattr(it.value, it.value.WhichOneof("value")) for it in pairs}


def plain(span, resource):
    return {
        "name": span.name,
        "kind": Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_"),
        "traceId": span.trace_id.hex(),
        "spanId": span.span_id.hex(),
        "parentSpanId": span.parent_span_id.hex(),
        "traceState": span.trace_state,
        "links": [{"traceId": it.trace_id.hex(), "spanId": it.span_id.hex()} for it in span.links],
        "status": Status.StatusCode.Name(span.status.code).removeprefix("STATUS_CODE_"),
        "startNs": span.start_time_unix_nano,
        "endNs": span.end_time_unix_nano,
        "attributes": attributes(span.attributes),
        "resource": attributes(resource.attributes),
    }


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def body(self):
        return self.rfile.read(int(self.headers["Content-Length"]))

    def do_PUT(self):
        answer.update({"status": 200, "rejected": 0}, **json.loads(self.body()))
        self.reply(200, b"")

    def do_POST(self):
        body = self.body()
        if self.path != "/v1/traces" or self.headers["Content-Type"] != "application/x-protobuf":
            return self.reply(404, b"")
        request = ExportTraceServiceRequest.FromString(body)
        spans = [
            plain(span, of_resource.resource)
            for of_resource in request.resource_spans
            for of_scope in of_resource.scope_spans
            for span in of_scope.spans
        ]
        received = {"status": answer["status"], "headers": dict(self.headers), "spans": spans}
        print(json.dumps(received), flush=True)
        response = ExportTraceServiceResponse()
        if answer["rejected"] > 0:
            response.partial_success.rejected_spans = answer["rejected"]
        self.reply(answer["status"], response.SerializeToString())

    def reply(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(argv[1])), Receiver)
print(json.dumps({"port": server.server_port}), flush=True)
server.serve_forever()
