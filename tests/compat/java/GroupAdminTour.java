import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.clients.admin.MemberToRemove;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Calls what an administrator of groups calls: BOOTSTRAP TOPIC PROTOCOL GROUP, where the topic has three partitions and
 * the group is not there yet. Prints one fact a line.
 */
public class GroupAdminTour {
    private static void fact(String name, Object value) {
        System.out.println(name + "=" + value);
    }

    /** "done", or the name of the error. */
    private static String outcome(KafkaFuture<?> future) throws InterruptedException {
        try {
            future.get();
            return "done";
        } catch (java.util.concurrent.ExecutionException failed) {
            return failed.getCause().getClass().getSimpleName();
        }
    }

    public static void main(String[] arguments) throws Exception {
        Tour tour = new Tour(arguments[0], arguments[1], arguments[2], arguments[3]);
        try (tour.admin) {
            try (KafkaConsumer<String, String> member = tour.join()) {
                tour.describe();
                tour.list();
                tour.changeWhileLive();
            }
            tour.remove();
            tour.changeWhenEmpty();
            tour.delete();
        }
    }

    private static class Tour {
        final Admin admin;
        private final String bootstrap;
        private final String topic;
        private final String protocol;
        private final String group;
        private final TopicPartition first;

        Tour(String bootstrap, String topic, String protocol, String group) {
            this.bootstrap = bootstrap;
            this.topic = topic;
            this.protocol = protocol;
            this.group = group;
            first = new TopicPartition(topic, 0);
            admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
        }

        /** A static member: it stays in the group when it is closed. */
        KafkaConsumer<String, String> join() {
            Map<String, Object> config = Map.of("bootstrap.servers", bootstrap, "group.id", group, "group.protocol", protocol,
                    "group.instance.id", "i", "client.id", "tour", "enable.auto.commit", "false");
            var consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
            consumer.subscribe(List.of(topic));
            while (consumer.assignment().size() < 3) {
                consumer.poll(Duration.ofMillis(50));
            }
            consumer.commitSync(Map.of(first, new OffsetAndMetadata(2, "where it was")));
            return consumer;
        }

        void describe() throws Exception {
            ConsumerGroupDescription told = admin.describeConsumerGroups(List.of(group)).all().get().get(group);
            fact("type", told.type());
            fact("state", told.groupState());
            fact("assignor", told.partitionAssignor());
            fact("is_simple", told.isSimpleConsumerGroup());
            fact("coordinator", told.coordinator().id());
            fact("has_epochs", told.groupEpoch().isPresent() && told.targetAssignmentEpoch().isPresent());
            MemberDescription member = told.members().iterator().next();
            fact("member", told.members().size() + " " + member.clientId() + " " + member.host() + " " + member.groupInstanceId().get());
            fact("assignment", member.assignment().topicPartitions().size());
            fact("target", member.targetAssignment().map(target -> target.topicPartitions().size()).orElse(-1));
            fact("has_member_epoch", member.memberEpoch().isPresent());
            fact("upgraded", member.upgraded());
            fact("as_classic", outcome(admin.describeClassicGroups(List.of(group)).all()));
        }

        void list() throws Exception {
            fact("listed", isListed(new ListGroupsOptions()));
            fact("listed_for_consumers", isListed(ListGroupsOptions.forConsumerGroups()));
            fact("listed_stable", isListed(new ListGroupsOptions().inGroupStates(Set.of(GroupState.STABLE))));
            fact("listed_empty", isListed(new ListGroupsOptions().inGroupStates(Set.of(GroupState.EMPTY))));
            fact("listed_classic", isListed(new ListGroupsOptions().withTypes(Set.of(GroupType.CLASSIC))));
            fact("listed_consumer", isListed(new ListGroupsOptions().withTypes(Set.of(GroupType.CONSUMER))));
            fact("listed_connect", isListed(new ListGroupsOptions().withProtocolTypes(Set.of("connect"))));
        }

        private boolean isListed(ListGroupsOptions options) throws Exception {
            Set<String> names = admin.listGroups(options).all().get().stream().map(GroupListing::groupId).collect(Collectors.toSet());
            return names.contains(group);
        }

        void changeWhileLive() throws Exception {
            fact("offsets", offsets());
            fact("alter_live", outcome(admin.alterConsumerGroupOffsets(group, Map.of(first, new OffsetAndMetadata(9))).all()));
            fact("delete_offsets_live", outcome(admin.deleteConsumerGroupOffsets(group, Set.of(first)).partitionResult(first)));
            fact("delete_live", outcome(admin.deleteConsumerGroups(List.of(group)).all()));
        }

        void remove() throws Exception {
            var nobody = new RemoveMembersFromConsumerGroupOptions(Set.of(new MemberToRemove("nobody")));
            fact("remove_nobody", outcome(admin.removeMembersFromConsumerGroup(group, nobody).all()));
            var instance = new RemoveMembersFromConsumerGroupOptions(Set.of(new MemberToRemove("i")));
            fact("remove", outcome(admin.removeMembersFromConsumerGroup(group, instance).all()));
            ConsumerGroupDescription told = admin.describeConsumerGroups(List.of(group)).all().get().get(group);
            fact("state_then", told.groupState() + " " + told.members().size());
        }

        void changeWhenEmpty() throws Exception {
            TopicPartition second = new TopicPartition(topic, 1);
            var wished = Map.of(first, new OffsetAndMetadata(1), second, new OffsetAndMetadata(5, "by hand"));
            fact("alter_empty", outcome(admin.alterConsumerGroupOffsets(group, wished).all()));
            fact("offsets_altered", offsets());
            fact("delete_offsets_empty", outcome(admin.deleteConsumerGroupOffsets(group, Set.of(first)).partitionResult(first)));
            fact("offsets_left", offsets());
            var spec = new ListConsumerGroupOffsetsSpec().topicPartitions(List.of(first));
            fact("offset_of_first", admin.listConsumerGroupOffsets(Map.of(group, spec)).partitionsToOffsetAndMetadata().get());
        }

        private Set<String> offsets() throws Exception {
            Set<String> told = new TreeSet<>();
            admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().forEach(
                    (partition, offset) -> told.add(partition.partition() + ":" + offset.offset() + ":" + offset.metadata()));
            return told;
        }

        void delete() throws Exception {
            fact("delete", outcome(admin.deleteConsumerGroups(List.of(group)).all()));
            fact("delete_again", outcome(admin.deleteConsumerGroups(List.of(group)).all()));
            fact("describe_deleted", outcome(admin.describeConsumerGroups(List.of(group)).all()));
        }
    }
}
