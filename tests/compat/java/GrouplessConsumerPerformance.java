import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Collection;
import java.util.Properties;
import java.util.function.Function;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.tools.ConsumerPerformance;

/**
 * Kafka's ConsumerPerformance against a broker without consumer groups: BOOTSTRAP and its other arguments.
 * Only the consumer's subscribe is replaced, by an assign of all partitions; the rest is Kafka's tool as it is.
 */
public class GrouplessConsumerPerformance {
    public static void main(String[] arguments) throws Exception {
        String[] all = new String[arguments.length + 1];
        all[0] = "--bootstrap-server";
        System.arraycopy(arguments, 0, all, 1, arguments.length);
        Method run = ConsumerPerformance.class.getDeclaredMethod("run", String[].class, Function.class);
        run.setAccessible(true);
        Function<Properties, Consumer<byte[], byte[]>> makeConsumer = GrouplessConsumerPerformance::withoutGroup;
        run.invoke(null, all, makeConsumer);
    }

    @SuppressWarnings("unchecked")
    private static Consumer<byte[], byte[]> withoutGroup(Properties properties) {
        properties.remove("group.id");
        properties.put("enable.auto.commit", "false");
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties);
        return (Consumer<byte[], byte[]>) Proxy.newProxyInstance(
                GrouplessConsumerPerformance.class.getClassLoader(), new Class<?>[] {Consumer.class},
                (proxy, method, values) -> {
                    if (method.getName().equals("subscribe")) {
                        assignAll(consumer, (Collection<String>) values[0]);
                        return null;
                    }
                    if (method.getName().equals("commitSync")) {
                        return null;
                    }
                    try {
                        return method.invoke(consumer, values);
                    } catch (InvocationTargetException failed) {
                        throw failed.getCause();
                    }
                });
    }

    private static void assignAll(KafkaConsumer<byte[], byte[]> consumer, Collection<String> topics) {
        consumer.assign(topics.stream()
                .flatMap(topic -> consumer.partitionsFor(topic).stream())
                .map(each -> new TopicPartition(each.topic(), each.partition()))
                .toList());
    }
}
