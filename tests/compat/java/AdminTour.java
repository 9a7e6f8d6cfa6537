import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringSerializer;

/** Calls what a single node's administrator calls: BOOTSTRAP TOPIC (one that is not there). Prints one fact a line. */
public class AdminTour {
    private static void fact(String name, Object value) {
        System.out.println(name + "=" + value);
    }

    public static void main(String[] arguments) throws Exception {
        String topic = arguments[1];
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", arguments[0]))) {
            Uuid created = topics(admin, topic);
            configs(admin, topic);
            records(admin, topic, arguments[0]);
            cluster(admin, topic);
            admin.deleteTopics(TopicCollection.ofTopicIds(List.of(created))).all().get();
            while (admin.listTopics().names().get().contains(topic)) {
                Thread.sleep(100);
            }
            fact("deleted", topic);
        }
    }

    private static Uuid topics(Admin admin, String topic) throws Exception {
        var creation = admin.createTopics(List.of(
                new NewTopic(topic, Optional.of(2), Optional.empty()).configs(Map.of("retention.ms", "-1", "segment.bytes", "2000000"))));
        creation.all().get();
        Uuid id = creation.topicId(topic).get();
        fact("created_partitions", creation.numPartitions(topic).get());
        fact("created_retention", creation.config(topic).get().get("retention.ms").value());
        admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(3))).all().get();
        Thread.sleep(300);
        fact("partitions_by_name", admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size());
        var byId = admin.describeTopics(TopicCollection.ofTopicIds(List.of(id))).allTopicIds().get().get(id);
        fact("name_by_id", byId.name());
        fact("same_id", admin.listTopics().namesToListings().get().get(topic).topicId().equals(id));
        return id;
    }

    private static void configs(Admin admin, String topic) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        Collection<AlterConfigOp> changes = List.of(
                new AlterConfigOp(new ConfigEntry("cleanup.policy", "compact"), AlterConfigOp.OpType.APPEND),
                new AlterConfigOp(new ConfigEntry("segment.bytes", ""), AlterConfigOp.OpType.DELETE));
        admin.incrementalAlterConfigs(Map.of(resource, changes)).all().get();
        Thread.sleep(300);
        var described = admin.describeConfigs(List.of(resource)).all().get().get(resource);
        fact("cleanup_policy", described.get("cleanup.policy").value());
        fact("segment_bytes_source", described.get("segment.bytes").source());
        fact("segment_bytes_type", described.get("segment.bytes").type());
    }

    private static void records(Admin admin, String topic, String bootstrap) throws Exception {
        TopicPartition partition = new TopicPartition(topic, 0);
        Map<String, Object> config = Map.of("bootstrap.servers", bootstrap);
        try (var producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
            for (long timestamp : new long[] {5000, 9000, 7000}) {
                producer.send(new ProducerRecord<>(topic, 0, timestamp, "key", "value")).get();
            }
            var producers = admin.describeProducers(List.of(partition)).partitionResult(partition).get().activeProducers();
            fact("producers", producers.size());
            fact("producer_last_sequence", producers.get(0).lastSequence());
        }
        for (OffsetSpec spec : List.of(OffsetSpec.earliest(), OffsetSpec.latest(), OffsetSpec.maxTimestamp(),
                OffsetSpec.forTimestamp(6000), OffsetSpec.earliestLocal(), OffsetSpec.latestTiered())) {
            var found = admin.listOffsets(Map.of(partition, spec)).partitionResult(partition).get();
            fact(spec.getClass().getSimpleName(), found.offset() + "," + found.timestamp());
        }
        admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(2))).all().get();
        fact("low_watermark", admin.listOffsets(Map.of(partition, OffsetSpec.earliest())).partitionResult(partition).get().offset());
    }

    private static void cluster(Admin admin, String topic) throws Exception {
        var cluster = admin.describeCluster();
        int node = cluster.controller().get().id();
        fact("nodes", cluster.nodes().get().size());
        fact("cluster_id", cluster.clusterId().get());
        var directories = admin.describeLogDirs(List.of(node)).allDescriptions().get().get(node);
        fact("log_dirs", directories.size());
        fact("replica_has_bytes", directories.values().iterator().next().replicaInfos().get(new TopicPartition(topic, 0)).size() > 0);
        var broker = new ConfigResource(ConfigResource.Type.BROKER, String.valueOf(node));
        fact("message_max_bytes", admin.describeConfigs(List.of(broker)).all().get().get(broker).get("message.max.bytes").value());
        fact("features", admin.describeFeatures().featureMetadata().get().finalizedFeatures().containsKey("metadata.version"));
    }
}
