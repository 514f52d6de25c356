// KafkaJS with its own defaults but for the session and the start: `consume.js LIBRARY BOOTSTRAP GROUP`. It reads
// the topic with the name of the group and commits until SIGTERM, and then disconnects.
const { Kafka, logLevel } = require(process.argv[2]);

const [bootstrap, groupId] = process.argv.slice(3);
const client = new Kafka({ brokers: [bootstrap], logLevel: logLevel.ERROR });
const consumer = client.consumer({ groupId, sessionTimeout: 6000, heartbeatInterval: 1000 });
process.on("SIGTERM", () => consumer.disconnect().then(() => process.exit(0)));
consumer
  .connect()
  .then(() => consumer.subscribe({ topics: [groupId], fromBeginning: true }))
  .then(() => consumer.run({ eachMessage: async () => {} }));
