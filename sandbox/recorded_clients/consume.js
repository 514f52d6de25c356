// KafkaJS, and Confluent's client with its interface, with their own defaults but for the session and the start:
// `consume.js LIBRARY BOOTSTRAP GROUP`. It reads the topic with the name of the group and commits until SIGTERM, and
// then disconnects.
const library = require(process.argv[2]);

const [bootstrap, groupId] = process.argv.slice(3);
const { Kafka, logLevel } = library.KafkaJS ?? library;
const settings = (values) => (library.KafkaJS ? { kafkaJS: values } : values);
const [atStart, atSubscription] = library.KafkaJS ? [{ fromBeginning: true }, {}] : [{}, { fromBeginning: true }];
const client = new Kafka(settings({ brokers: [bootstrap], logLevel: logLevel.ERROR }));
const consumer = client.consumer(settings({ groupId, sessionTimeout: 6000, heartbeatInterval: 1000, ...atStart }));
process.on("SIGTERM", () => consumer.disconnect().then(() => process.exit(0)));
consumer
  .connect()
  .then(() => consumer.subscribe({ topics: [groupId], ...atSubscription }))
  .then(() => consumer.run({ eachMessage: async () => {} }));
