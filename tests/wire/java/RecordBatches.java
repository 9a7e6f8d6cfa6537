import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Scanner;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.record.internal.SimpleRecord;

/** Kafka's own record batches, for a test: with "write" one of each codec, in hexadecimal; with "read" the records of those on stdin. */
public class RecordBatches {
    public static void main(String[] arguments) {
        if (arguments[0].equals("write")) {
            for (CompressionType codec : CompressionType.values()) {
                write(codec);
            }
        } else {
            Scanner lines = new Scanner(System.in);
            while (lines.hasNextLine()) {
                read(MemoryRecords.readableRecords(ByteBuffer.wrap(HexFormat.of().parseHex(lines.nextLine()))));
            }
        }
    }

    private static void write(CompressionType codec) {
        SimpleRecord[] records = new SimpleRecord[2_000];
        for (int number = 0; number < records.length; number++) {
            byte[] value = number % 7 == 0 ? null : ("value " + number).repeat(5).getBytes(StandardCharsets.UTF_8);
            Header[] headers = number % 3 == 0 ? new Header[] {new RecordHeader("trace", null)} : new Header[0];
            records[number] = new SimpleRecord(1_000L + number * 7, ("key " + number).getBytes(StandardCharsets.UTF_8), value, headers);
        }
        ByteBuffer buffer = MemoryRecords.withRecords(17L, Compression.of(codec).build(), records).buffer();
        System.out.println(HexFormat.of().formatHex(Arrays.copyOf(buffer.array(), buffer.limit())));
    }

    private static void read(MemoryRecords records) {
        for (RecordBatch batch : records.batches()) {
            batch.ensureValid();
            for (Record record : batch) {
                System.out.println(record.offset() + " " + record.timestamp() + " " + record.valueSize() + " " + record.headers().length);
            }
        }
    }
}
