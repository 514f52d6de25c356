//! rdkafka for Rust with its own defaults but for the session and the start: `recorded-clients BOOTSTRAP GROUP`. It
//! reads the topic with the name of the group and commits until SIGTERM, and then closes.
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let stopped = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGTERM, Arc::clone(&stopped)).unwrap();
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", &arguments[1])
        .set("group.id", &arguments[2])
        .set("session.timeout.ms", "6000")
        .set("heartbeat.interval.ms", "1000")
        .set("auto.offset.reset", "earliest")
        .create()
        .unwrap();
    consumer.subscribe(&[&arguments[2]]).unwrap();
    while !stopped.load(Ordering::Relaxed) {
        consumer.poll(Duration::from_millis(200));
    }
}
