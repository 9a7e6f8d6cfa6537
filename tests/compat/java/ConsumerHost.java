import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Hosts consumers, each polled by a thread of its own. A line on stdin is MEMBER COMMAND WORDS..., a line on stdout is
 * MEMBER EVENT WORDS..., separated by tabs; the commands are in Member.obey, the events wherever tell is called.
 */
public class ConsumerHost {
    private static final PrintStream EVENTS = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    public static void main(String[] arguments) throws Exception {
        Map<String, Member> members = new HashMap<>();
        var commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = commands.readLine()) != null;) {
            String[] words = line.split("\t", -1);
            if (words[1].equals("start")) {
                Member member = new Member(words);
                members.put(words[0], member);
                member.start();
            } else {
                members.get(words[0]).asked.add(words);
            }
        }
        Runtime.getRuntime().halt(0);
    }

    private static class Member extends Thread implements ConsumerRebalanceListener {
        final Queue<String[]> asked = new ConcurrentLinkedQueue<>();
        private final String name;
        private final String topics;
        private final Map<String, Object> config = new HashMap<>();
        private KafkaConsumer<String, String> consumer;
        private boolean isClosing;

        Member(String[] words) {
            name = words[0];
            topics = words[2];
            for (String setting : Arrays.copyOfRange(words, 3, words.length)) {
                int equals = setting.indexOf('=');
                config.put(setting.substring(0, equals), setting.substring(equals + 1));
            }
        }

        @Override
        public void run() {
            try {
                consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
                subscribe();
                while (!isClosing) {
                    List<String> values = new ArrayList<>();
                    for (ConsumerRecord<String, String> each : consumer.poll(Duration.ofMillis(50))) {
                        values.add(each.value());
                    }
                    if (!values.isEmpty()) {
                        tell("values", String.join("\t", values));
                    }
                    for (String[] words; !isClosing && (words = asked.poll()) != null;) {
                        obey(words);
                    }
                }
            } catch (Exception failure) {
                tell("failed", failure.toString());
            }
            long begun = System.nanoTime();
            if (consumer != null) {
                consumer.close();
            }
            tell("closed", String.valueOf((System.nanoTime() - begun) / 1e6));
        }

        private void subscribe() {
            if (!topics.startsWith("^")) {
                consumer.subscribe(List.of(topics.split(",")), this);
            } else if ("consumer".equals(config.get("group.protocol"))) {
                consumer.subscribe(new SubscriptionPattern(topics), this);
            } else {
                consumer.subscribe(Pattern.compile(topics), this);
            }
        }

        private void obey(String[] words) {
            if (words[1].equals("close")) {
                isClosing = true;
                return;
            }
            TopicPartition partition = new TopicPartition(words[2], Integer.parseInt(words[3]));
            switch (words[1]) {
                case "commit" -> {
                    consumer.commitSync(Map.of(partition, new OffsetAndMetadata(Long.parseLong(words[4]), words[5])));
                    tell("answer", "");
                }
                case "committed" -> {
                    OffsetAndMetadata committed = consumer.committed(Set.of(partition)).get(partition);
                    tell("answer", committed == null ? "" : String.valueOf(committed.offset()));
                }
                case "seek" -> {
                    consumer.seek(partition, Long.parseLong(words[4]));
                    tell("answer", "");
                }
                default -> throw new IllegalArgumentException(String.join(" ", words));
            }
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            tellPartitions("assigned", partitions);
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            consumer.commitSync();
            tellPartitions("taken", partitions);
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            tellPartitions("taken", partitions);
        }

        private void tellPartitions(String event, Collection<TopicPartition> partitions) {
            if (!partitions.isEmpty()) {
                tell(event, String.join("\t", partitions.stream().map(each -> each.topic() + ":" + each.partition()).toList()));
            }
        }

        private void tell(String event, String words) {
            EVENTS.println(name + "\t" + event + "\t" + words);
        }
    }
}
