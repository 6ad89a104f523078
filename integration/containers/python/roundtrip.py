"""Starts a broker by Testcontainers' module for Kafka, as its documentation shows
it, and takes numbers through it with kafka-python: roundtrip.py IMAGE [kraft]"""

import sys
import time

from kafka import KafkaConsumer, KafkaProducer
from testcontainers.community.kafka import KafkaContainer

NUMBERS = [str(i) for i in range(100)]


def main(image, kraft):
    container = KafkaContainer(image)
    if kraft:
        container = container.with_kraft()
    began = time.monotonic()
    with container as kafka:
        print(f"started in {(time.monotonic() - began) * 1000:.0f} ms")
        address = kafka.get_bootstrap_server()
        producer = KafkaProducer(bootstrap_servers=address)
        sent = [producer.send("numbers", number.encode(), partition=0) for number in NUMBERS]
        for one in sent:
            one.get(timeout=60)
        producer.close()

        consumer = KafkaConsumer(
            "numbers", bootstrap_servers=address, group_id="readers", auto_offset_reset="earliest", consumer_timeout_ms=60_000
        )
        read = []
        for record in consumer:
            read.append(record.value.decode())
            if len(read) == len(NUMBERS):
                break
        consumer.close()
        if read != NUMBERS:
            sys.exit(f"read {read}")
        print(f"read {len(read)}")


main(sys.argv[1], "kraft" in sys.argv[2:])
