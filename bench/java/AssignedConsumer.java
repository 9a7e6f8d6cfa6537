import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Reads all partitions of a topic up to an offset, again and again, with the defaults of Java's consumer, assigned and
 * not subscribed; but at the end of the log it waits only 10 ms, so that it soon begins again. Prints the records of
 * its warm-up, then the records and the seconds of what it read after it.
 */
public final class AssignedConsumer {
    public static void main(String[] arguments) {
        String bootstrapServers = arguments[0];
        String topic = arguments[1];
        int partitionCount = Integer.parseInt(arguments[2]);
        long endOffset = Long.parseLong(arguments[3]);
        double warmUpSeconds = Double.parseDouble(arguments[4]);
        double seconds = Double.parseDouble(arguments[5]);

        List<TopicPartition> partitions = new ArrayList<>();
        for (int index = 0; index < partitionCount; index++) {
            partitions.add(new TopicPartition(topic, index));
        }
        Map<String, Object> settings = Map.of(
                "bootstrap.servers", bootstrapServers, "enable.auto.commit", false, "fetch.max.wait.ms", 10);
        ByteArrayDeserializer bytes = new ByteArrayDeserializer();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings, bytes, bytes)) {
            consumer.assign(partitions);
            long warmUpRecords = read(consumer, partitions, endOffset, warmUpSeconds);
            long began = System.nanoTime();
            long records = read(consumer, partitions, endOffset, seconds);
            System.out.println(warmUpRecords + " " + records + " " + (System.nanoTime() - began) / 1e9);
        }
    }

    /** Reads for at least this long; the records read. */
    private static long read(
            KafkaConsumer<byte[], byte[]> consumer, List<TopicPartition> partitions, long endOffset, double seconds) {
        long records = 0;
        long deadline = System.nanoTime() + (long) (seconds * 1e9);
        consumer.seekToBeginning(partitions);
        while (System.nanoTime() < deadline) {
            ConsumerRecords<byte[], byte[]> polled = consumer.poll(Duration.ofMillis(100));
            records += polled.count();
            for (TopicPartition partition : polled.partitions()) {
                List<ConsumerRecord<byte[], byte[]>> found = polled.records(partition);
                if (found.get(found.size() - 1).offset() + 1 >= endOffset) {
                    consumer.seek(partition, 0);
                }
            }
        }
        return records;
    }
}
