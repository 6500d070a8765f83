package io.multihead.fuzz;

import io.multihead.compute.Compute;
import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.gemm.PackedWeights;
import io.multihead.gemm.WeightFormat;
import io.multihead.internal.gemm.PackedMatrix;
import io.multihead.internal.layout.PanelFormat;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * A file of packed weights with arbitrary bytes. Products with accepted f32 weights have the same bits as products with
 * the matrix in the panels. In every format, one row has the same bits as among many rows. A file of the current
 * version is written again with the same bytes.
 *
 * <p>Inputs that begin with {@code '0'} are whole files. All other inputs are the fields of a header, then panels,
 * which are repeated up to the size in the header, since nearly every mutation of a header changes the size of the
 * file.
 */
public final class PackedWeightsFuzz {
    private static final Compute CPU = Compute.serial();
    private static final Path FILE = Scratch.folder("packed").resolve("weights");
    private static final Path COPY = FILE.resolveSibling("copy");

    private static final int VERSION = 2;
    private static final int FIELDS = 40;
    private static final int HEADER = 4096;
    private static final int PANEL = 32;
    private static final int BLOCK = 512;
    private static final long LARGEST = 1 << 18;

    private PackedWeightsFuzz() {}

    public static void fuzzerTestOneInput(byte[] input) {
        byte[] file = file(input);
        Oracle.check(file.length, () -> check(file));
    }

    /** Returns the input of a file, with the first bytes of its panels. */
    static byte[] input(byte[] file, int panels) {
        int kept = Math.min(panels, file.length - HEADER);
        return ByteBuffer.allocate(1 + FIELDS + kept)
                .put((byte) '1')
                .put(file, 0, FIELDS)
                .put(file, HEADER, kept)
                .array();
    }

    private static byte[] file(byte[] input) {
        if (input.length > 0 && input[0] == '0') {
            return Arrays.copyOfRange(input, 1, input.length);
        }
        if (input.length <= FIELDS) {
            return input;
        }
        ByteBuffer fields = ByteBuffer.wrap(input).order(ByteOrder.LITTLE_ENDIAN);
        long inputs = fields.getLong(1 + 24);
        long outputs = fields.getLong(1 + 32);
        int given = input.length - 1 - FIELDS;
        boolean small = inputs >= 0 && outputs >= 0 && (outputs == 0 || inputs <= LARGEST) && outputs <= LARGEST;
        long bytes = small ? panelBytes(format(fields.getInt(1 + 8), fields.getInt(1 + 12)), inputs, outputs) : given;
        byte[] file = new byte[HEADER + (int) (bytes <= LARGEST ? bytes : given)];
        System.arraycopy(input, 1, file, 0, FIELDS);
        for (int i = HEADER; i < file.length && given > 0; i++) {
            file[i] = input[1 + FIELDS + (i - HEADER) % given];
        }
        return file;
    }

    /** Returns the format of a header, or f32 if the header has none. */
    private static WeightFormat format(int version, int field) {
        WeightFormat[] all = WeightFormat.values();
        return version == VERSION && field >= 0 && field < all.length ? all[field] : WeightFormat.F32;
    }

    /** Returns the bytes of panels, or the bytes in f32 for sizes that the format cannot have. */
    private static long panelBytes(WeightFormat format, long inputs, long outputs) {
        try {
            PanelFormat panels = PanelFormat.valueOf(format.name());
            PackedMatrix.requireSizes(panels, inputs, outputs);
            return PackedMatrix.bytes(panels, inputs, outputs);
        } catch (IllegalArgumentException refused) {
            return Float.BYTES * inputs * Math.ceilDiv(outputs, PANEL) * PANEL;
        }
    }

    private static void check(byte[] file) {
        Scratch.write(FILE, file);
        Oracle.accepts(FILE + ": ", () -> {
            try (Arena arena = Arena.ofConfined()) {
                PackedWeights weights = PackedWeights.map(arena, FILE);
                Oracle.uncounted(() -> use(weights, ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN)));
            }
        });
    }

    private static void use(PackedWeights weights, ByteBuffer file) {
        Oracle.require(
                weights.inputs() == file.getLong(24) && weights.outputs() == file.getLong(32),
                weights.inputs() + " inputs and " + weights.outputs() + " outputs");
        if (file.getInt(8) == VERSION) {
            writeAgain(weights, file);
        }
        if (Math.max(weights.inputs(), weights.outputs()) > LARGEST) {
            return; // there are no panels, since the other size is 0
        }
        int inputs = (int) weights.inputs();
        int outputs = (int) weights.outputs();
        if (weights.format() != WeightFormat.F32) {
            sameRows(weights);
            return;
        }
        PackedWeights expected = PackedWeights.ofInputRows(matrix(file, inputs, outputs));
        for (int rows = 1; rows <= 7; rows += 3) {
            Oracle.require(
                    Arrays.equals(multiply(rows, expected), multiply(rows, weights)),
                    "other bits than those of the matrix, " + rows + " rows");
        }
    }

    private static void sameRows(PackedWeights weights) {
        float[] one = multiply(1, weights);
        float[] many = multiply(7, weights);
        for (int row = 0; row < 7; row++) {
            float[] each = Arrays.copyOfRange(many, row * one.length, (row + 1) * one.length);
            Oracle.require(
                    Arrays.equals(one, each), "other bits in row " + row + " of 7 than in one, " + weights.format());
        }
    }

    private static void writeAgain(PackedWeights weights, ByteBuffer file) {
        try {
            weights.write(COPY);
            byte[] copy = Files.readAllBytes(COPY);
            Arrays.fill(file.array(), FIELDS, HEADER, (byte) 0); // these bytes are not read
            Oracle.require(Arrays.equals(file.array(), copy), "other bytes in a second file");
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    /**
     * Returns the matrix of the panels. Panels are in depth blocks of 512 rows. A depth block has panels of 32 columns
     * in row-major order.
     */
    private static Tensor matrix(ByteBuffer file, int inputs, int outputs) {
        float[] values = new float[inputs * outputs];
        int columns = Math.ceilDiv(outputs, PANEL) * PANEL;
        for (int row = 0; row < inputs; row++) {
            int block = row / BLOCK * BLOCK;
            int rows = Math.min(BLOCK, inputs - block);
            for (int column = 0; column < outputs; column++) {
                int panel = column / PANEL * PANEL;
                int at = block * columns + panel * rows + (row - block) * PANEL + column - panel;
                values[row * outputs + column] = file.getFloat(HEADER + Float.BYTES * at);
            }
        }
        return Tensor.of(values, inputs, outputs);
    }

    private static float[] multiply(int rows, PackedWeights weights) {
        float[] ones = new float[rows * (int) weights.inputs()];
        Arrays.fill(ones, 1);
        float[] product = new float[rows * (int) weights.outputs()];
        Tensor to = Tensor.of(product, rows, weights.outputs());
        Gemm.multiply(CPU, Tensor.of(ones, rows, weights.inputs()), weights, to, GemmOptions.DEFAULT);
        return product;
    }
}
