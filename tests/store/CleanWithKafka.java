import java.io.File;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.*;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/** Cleans logs with Kafka's own cleaner: NOW_MS DELETE_RETENTION_MS FIRST_DIRTY_OFFSET LOG_DIRECTORY... */
public class CleanWithKafka {
    public static void main(String[] args) throws Exception {
        long now = Long.parseLong(args[0]);
        LogConfig config = new LogConfig(Map.of("cleanup.policy", "compact", "delete.retention.ms", args[1]));
        for (int i = 3; i < args.length; i++) {
            clean(new File(args[i]), config, now, Long.parseLong(args[2]));
        }
    }

    private static void clean(File directory, LogConfig config, long now, long dirty) throws Exception {
        UnifiedLog log = UnifiedLog.create(directory, config, 0, 0, new KafkaScheduler(1), new BrokerTopicStats(), Time.SYSTEM,
            60_000, new ProducerStateManagerConfig(Integer.MAX_VALUE, false), Integer.MAX_VALUE,
            new LogDirFailureChannel(1), false, Optional.empty());
        log.roll();
        log.updateHighWatermark(log.logEndOffset());
        Cleaner cleaner = new Cleaner(0, new SkimpyOffsetMap(1 << 16), 1 << 16, 1 << 20, 0.9,
            new Throttler(Double.MAX_VALUE, 300, "bytes", "bytes", Time.SYSTEM), Time.SYSTEM, partition -> { });
        cleaner.doClean(new LogToClean(log, dirty, log.activeSegment().baseOffset(), false), now);
        log.close();
    }
}
