// Starts a broker by Testcontainers' module for Kafka, as its documentation shows
// it, and takes numbers through it with kafkajs: node roundtrip.js IMAGE
"use strict";
const { KafkaContainer } = require("@testcontainers/kafka");
const { Kafka, logLevel } = require("kafkajs");

const numbers = Array.from({ length: 100 }, (_, i) => String(i));

async function main(image) {
  const began = Date.now();
  const container = await new KafkaContainer(image).start();
  console.log(`started in ${Date.now() - began} ms`);
  try {
    const broker = `${container.getHost()}:${container.getMappedPort(9093)}`;
    const kafka = new Kafka({ clientId: "roundtrip", brokers: [broker], logLevel: logLevel.ERROR });
    await produce(kafka);
    await consume(kafka);
  } finally {
    await container.stop();
  }
}

async function produce(kafka) {
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic: "numbers", numPartitions: 1 }] });
  await admin.disconnect();
  const producer = kafka.producer();
  await producer.connect();
  await producer.send({ topic: "numbers", messages: numbers.map((value) => ({ value })) });
  await producer.disconnect();
}

async function consume(kafka) {
  const consumer = kafka.consumer({ groupId: "readers" });
  await consumer.connect();
  await consumer.subscribe({ topic: "numbers", fromBeginning: true });
  let next = 0;
  await new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`${next} of ${numbers.length} records in a minute`)), 60_000);
    consumer.run({
      eachMessage: async ({ message }) => {
        if (message.value.toString() !== numbers[next]) {
          reject(new Error(`record ${next} is ${message.value}`));
        }
        if (++next === numbers.length) {
          clearTimeout(late);
          resolve();
        }
      },
    });
  });
  await consumer.disconnect();
  console.log(`read ${next}`);
}

main(process.argv[2]).catch((err) => {
  console.error(err);
  process.exitCode = 1;
});
