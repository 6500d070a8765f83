package io.multihead.gemm;

import static io.multihead.internal.gemm.Blocking.KC;

import io.multihead.internal.base.AtomicFile;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.FileMemory;
import io.multihead.internal.base.NativeMemory;
import io.multihead.internal.gemm.PackedMatrix;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.layout.PanelFormat;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;

/**
 * Files of packed weights: a header of one page, then the panels in their layout in memory, with all depth blocks in order.
 *
 * <pre>
 *  offset  0  magic "MHPANELS"
 *          8  int   version: 2
 *         12  int   format, the number of {@link WeightFormat#code}
 *         16  int   columns of a panel
 *         20  int   rows of a depth block (KC)
 *         24  long  inputs
 *         32  long  outputs
 *         40  zeros up to 4096
 * </pre>
 *
 * Numbers are little-endian. Version 1 has only f32 panels; its format field contains 4, the bytes of an element.
 */
final class PackedFile {
    /** The bytes of the header: a page, so that panels begin on a cache line in any mapping of the file. */
    static final int HEADER = 4096;

    private static final long MAGIC = ByteBuffer.wrap(new byte[] {'M', 'H', 'P', 'A', 'N', 'E', 'L', 'S'})
            .order(ByteOrder.LITTLE_ENDIAN)
            .getLong();
    private static final int VERSION = 2;
    private static final int FIRST_VERSION = 1;

    private PackedFile() {}

    static void write(Path file, PackedMatrix matrix) throws IOException {
        NativeMemory.requireLittleEndian("packed weights");
        AtomicFile.write(file, "panels", to -> {
            to.append(header(matrix));
            to.append(matrix.segment());
        });
    }

    private static ByteBuffer header(PackedMatrix matrix) {
        return ByteBuffer.allocate(HEADER)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(MAGIC)
                .putInt(VERSION)
                .putInt(WeightFormat.of(matrix.format()).code)
                .putInt(Lanes.PANEL)
                .putInt(KC)
                .putLong(matrix.k())
                .putLong(matrix.n())
                .rewind();
    }

    static PackedMatrix map(Path file, Arena arena) throws IOException {
        Checks.notNull(file, "file");
        Checks.notNull(arena, "arena");
        NativeMemory.requireLittleEndian("packed weights");
        MemorySegment memory = FileMemory.of(file, arena);
        return Checks.in(file, () -> read(memory));
    }

    private static PackedMatrix read(MemorySegment file) {
        long size = file.byteSize();
        if (size < HEADER) {
            throw Checks.fail("file", size + " bytes", "expected at least the " + HEADER + " of a header");
        }
        ByteBuffer header = file.asSlice(0, HEADER).asByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
        requireField("magic", header.getLong(), MAGIC);
        PanelFormat format = format(header.getInt(), header.getInt());
        requireField("panel columns", header.getInt(), Lanes.PANEL);
        requireField("block rows", header.getInt(), KC);
        long inputs = header.getLong();
        long outputs = header.getLong();
        requireSizes(format, inputs, outputs, size);
        requireZeros(header);
        return PackedMatrix.in(format, file.asSlice(HEADER), inputs, (int) outputs);
    }

    private static PanelFormat format(int version, int field) {
        if (version == FIRST_VERSION) {
            requireField("element bytes", field, Float.BYTES);
            return PanelFormat.F32;
        }
        if (version != VERSION) {
            throw Checks.fail("version", String.valueOf(version), "expected " + FIRST_VERSION + " or " + VERSION);
        }
        return WeightFormat.ofCode(field).panels;
    }

    private static void requireField(String field, long actual, long expected) {
        if (actual != expected) {
            throw Checks.fail(field, String.valueOf(actual), "expected " + expected);
        }
    }

    /** Fails unless only zeros follow the fields: other bytes would have a meaning that this version does not know. */
    private static void requireZeros(ByteBuffer header) {
        int fields = header.position();
        while (header.hasRemaining()) {
            int next = Byte.toUnsignedInt(header.get());
            if (next != 0) {
                throw Checks.fail(
                        "header",
                        "byte " + (header.position() - 1) + " is " + next,
                        "expected zeros from byte " + fields + " on");
            }
        }
    }

    /** Fails unless the panels of the declared sizes follow the header. The header's numbers may be arbitrary. */
    private static void requireSizes(PanelFormat format, long inputs, long outputs, long size) {
        PackedMatrix.requireSizes(format, inputs, outputs);
        long expected = HEADER + PackedMatrix.bytes(format, inputs, outputs);
        if (size != expected) {
            throw Checks.fail(
                    "file",
                    size + " bytes",
                    "expected " + expected + " for " + inputs + " inputs and " + outputs + " outputs in " + format);
        }
    }
}
