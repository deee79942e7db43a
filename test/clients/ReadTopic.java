import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/** A consumer by Apache Kafka's client for Java. Arguments: topic, group or "", time in ms or "", then properties. */
public class ReadTopic {
  public static void main(String[] given) {
    String topic = given[0];
    String group = given[1];
    Properties properties = new Properties();
    for (int n = 3; n < given.length; n++) {
      String[] pair = given[n].split("=", 2);
      properties.put(pair[0], pair[1]);
    }
    TopicPartition partition = new TopicPartition(topic, 0);
    try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(properties)) {
      if (!group.isEmpty()) {
        consumer.subscribe(List.of(topic), new ConsumerRebalanceListener() {
          public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            if (!partitions.isEmpty()) System.out.println("assigned");
          }
          public void onPartitionsRevoked(Collection<TopicPartition> partitions) {}
        });
      } else {
        consumer.assign(List.of(partition));
        if (given[2].isEmpty()) consumer.seekToBeginning(List.of(partition));
        else {
          Map<TopicPartition, Long> since = Map.of(partition, Long.parseLong(given[2]));
          consumer.seek(partition, consumer.offsetsForTimes(since).get(partition).offset());
        }
      }
      while (true) {
        for (var record : consumer.poll(Duration.ofSeconds(1))) {
          if (!group.isEmpty())
            consumer.commitSync(Map.of(new TopicPartition(topic, record.partition()), new OffsetAndMetadata(record.offset() + 1)));
          System.out.println("key " + record.key());
        }
      }
    }
  }
}
