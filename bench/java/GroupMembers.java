import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Holds consumers of Kafka's own, each polled by a thread of its own, and tells what happens to them. Orders and events
 * are the lines of bench/group_member.py, except that nobody asks it for gaps; nanoTime is the same monotonic clock.
 */
public final class GroupMembers {
    private static final Duration POLL = Duration.ofMillis(100);

    public static void main(String[] arguments) throws IOException {
        Map<String, Member> members = new ConcurrentHashMap<>();
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        for (String line = orders.readLine(); line != null; line = orders.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "join" -> {
                    Member member = new Member(words[1], words[2], settings(words));
                    members.put(words[1], member);
                    new Thread(member).start();
                }
                case "leave" -> members.remove(words[1]).leave();
                default -> throw new IllegalArgumentException("no order: " + line);
            }
        }
        Runtime.getRuntime().halt(0); // Nobody listens any more: the members end where they are.
    }

    private static Map<String, Object> settings(String[] words) {
        Map<String, Object> settings = new HashMap<>();
        for (int index = 3; index < words.length; index++) {
            String[] pair = words[index].split("=", 2);
            settings.put(pair[0], pair[1]);
        }
        return settings;
    }

    private static void tell(String member, String what, String detail) {
        String line = (System.nanoTime() + " " + member + " " + what + " " + detail).strip() + "\n";
        synchronized (System.out) {
            System.out.print(line);
            System.out.flush();
        }
    }

    /** One consumer and its thread. */
    private static final class Member implements Runnable, ConsumerRebalanceListener {
        private final String number;
        private final String topic;
        private final Map<String, Object> settings;
        private volatile KafkaConsumer<byte[], byte[]> consumer;
        private volatile boolean leaving;

        Member(String number, String topic, Map<String, Object> settings) {
            this.number = number;
            this.topic = topic;
            this.settings = settings;
        }

        void leave() {
            leaving = true;
            consumer.wakeup();
        }

        @Override
        public void run() {
            try {
                tell(number, "joining", "");
                ByteArrayDeserializer bytes = new ByteArrayDeserializer();
                consumer = new KafkaConsumer<>(settings, bytes, bytes);
                consumer.subscribe(List.of(topic), this);
                poll();
                tell(number, "leaving", "");
                consumer.close();
                tell(number, "closed", "");
            } catch (RuntimeException failure) {
                tell(number, "failed", failure.toString());
            }
        }

        private void poll() {
            try {
                while (!leaving) {
                    consumer.poll(POLL);
                }
            } catch (WakeupException asked) {
                // It was told to leave.
            }
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            tell(number, "assigned", numbers(partitions));
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            tell(number, "revoked", numbers(partitions));
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            tell(number, "lost", numbers(partitions));
        }

        private static String numbers(Collection<TopicPartition> partitions) {
            return partitions.stream()
                    .map(partition -> Integer.toString(partition.partition()))
                    .collect(Collectors.joining(","));
        }
    }
}
