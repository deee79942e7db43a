# Prints the first records of a topic as Confluent's JSON Schema deserializer reads them, one JSON object a line.
import json
import sys

from confluent_kafka import Consumer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.json_schema import JSONDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

settings = json.loads(sys.argv[1])
registry = SchemaRegistryClient(settings["registry"])
deserialize = JSONDeserializer(None, schema_registry_client=registry)
consumer = Consumer(
    {
        "bootstrap.servers": settings["bootstrap"],
        "group.id": "json-schema-consumer",
        "auto.offset.reset": "earliest",
    }
)
consumer.subscribe([settings["topic"]])
left = settings["count"]
while left > 0:
    message = consumer.poll(1.0)
    if message is None:
        continue
    if message.error():
        sys.exit(str(message.error()))
    value = deserialize(message.value(), SerializationContext(message.topic(), MessageField.VALUE))
    print(json.dumps(value), flush=True)
    left -= 1
consumer.close()
