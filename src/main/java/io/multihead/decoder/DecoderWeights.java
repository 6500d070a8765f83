package io.multihead.decoder;

import io.multihead.compute.Compute;
import io.multihead.gemm.PackedWeights;
import io.multihead.gemm.WeightFormat;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.FileMemory;
import io.multihead.internal.base.SlabArena;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.HashSet;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Takes the weights of a file by the names of GGUF, each once, with the sizes that the configuration asks for. */
final class DecoderWeights {
    private static final int MOST_NAMES = 5;

    private final Compute cpu;
    private final ModelFile file;
    private final SlabArena arena;
    private final boolean eightBitInputs;
    private final Set<String> used = new HashSet<>();
    private long packedBytes;
    private int roundedMatrices;
    private long tableBytes;

    /**
     * Takes from a file.
     *
     * @param cpu packs
     * @param arena owns packed weights, whose size it is told
     * @param eightBitInputs whether products with weights of 4 bits round their inputs
     */
    DecoderWeights(Compute cpu, ModelFile file, SlabArena arena, boolean eightBitInputs) {
        this.cpu = cpu;
        this.file = file;
        this.arena = arena;
        this.eightBitInputs = eightBitInputs;
        arena.expect(file.bytes());
    }

    /** Returns where the weights are from. */
    ModelFile file() {
        return file;
    }

    boolean has(String name) {
        return file.names().contains(file.nameOf(name));
    }

    /** Takes a vector, such as a bias or the weights of a normalisation. */
    Tensor vector(String name, long length) {
        String found = take(name);
        requireShape(found, file.shape(found), Shape.of(length));
        return file.tensor(found);
    }

    /** Takes a vector, or returns null where there is none. */
    @Nullable
    Tensor findVector(String name, long length) {
        return has(name) ? vector(name, length) : null;
    }

    /** Takes a matrix and packs it in the format that it has. */
    PackedWeights matrix(String name, long outputs, long inputs) {
        return rows(name, Shape.of(outputs, inputs), 0, outputs);
    }

    /**
     * Takes some rows of a matrix that is several in one, and packs them in the format that it has. What was packed is not needed in memory
     * any more: a model would take twice its size while it is loaded.
     */
    PackedWeights rows(String name, Shape whole, long from, long to) {
        String found = take(name);
        requireShape(found, file.shape(found), whole);
        BlockTensor blocks = file.findBlocks(found);
        return blocks != null
                ? pack(blocks.slice(from, to))
                : pack(found, file.tensor(found).slice(0, from, to));
    }

    /** Does the same with rows of one of several matrices that are one tensor. */
    PackedWeights rowsOf(String name, Shape whole, int index, long from, long to) {
        String found = take(name);
        requireShape(found, file.shape(found), whole);
        BlockTensor blocks = file.findBlocks(found);
        return blocks != null
                ? pack(blocks.select(index).slice(from, to))
                : pack(found, file.tensor(found).select(0, index).slice(0, from, to));
    }

    private PackedWeights pack(BlockTensor part) {
        PackedWeights packed = PackedWeights.ofOutputRows(cpu, part, arena);
        FileMemory.release(part.memory(), part.offset(), part.bytes());
        return counted(packed);
    }

    private PackedWeights pack(String name, Tensor part) {
        PackedWeights packed = PackedWeights.ofOutputRows(cpu, part, formatOf(name, part), arena);
        int bytes = part.dtype().bytes();
        FileMemory.release(part.memory(), part.offset() * bytes, part.shape().elements() * bytes);
        return counted(packed);
    }

    private PackedWeights counted(PackedWeights weights) {
        packedBytes += weights.bytes();
        if (!eightBitInputs || !weights.format().allowsEightBitInputs()) {
            return weights;
        }
        roundedMatrices++;
        return weights.withEightBitInputs();
    }

    /** Returns whether products with weights of 4 bits round their inputs. */
    boolean eightBitInputs() {
        return eightBitInputs;
    }

    /** Fails if inputs are to be rounded, and no matrix has them so. */
    void requireRounded() {
        if (eightBitInputs && roundedMatrices == 0) {
            throw Checks.fail("eightBitInputs", "no weights in Q4_0, Q4_1 or Q4_K", "expected some");
        }
    }

    /** Returns the bytes of the matrices that were packed. */
    long packedBytes() {
        return packedBytes;
    }

    /** Returns the bytes of the tables, which are read where they are. */
    long tableBytes() {
        return tableBytes;
    }

    private static WeightFormat formatOf(String name, Tensor tensor) {
        return switch (tensor.dtype()) {
            case F32 -> WeightFormat.F32;
            case BF16 -> WeightFormat.BF16;
            case F16 -> WeightFormat.F16;
            case F64, I8 -> throw Checks.fail(name, tensor.dtype().toString(), "expected f32, bf16, f16 or blocks");
        };
    }

    /** Returns the rows of a matrix, where only the file says how many there are. */
    int rows(String name) {
        return rows(name, 2, "[outputs, inputs]");
    }

    /** Returns the rows of each of several matrices that are one tensor. */
    int rowsOfEach(String name) {
        return rows(name, 3, "[matrices, outputs, inputs]");
    }

    private int rows(String name, int rank, String expected) {
        String found = take(name);
        Shape shape = file.shape(found);
        if (shape.rank() != rank) {
            throw Checks.fail(found, "shape " + shape, "expected " + expected);
        }
        return Checks.fitsInt(shape.dim(rank - 2), found);
    }

    /** Returns the blocks of a table, which are read where they are, or null where it has plain elements. */
    @Nullable
    BlockTensor findTableBlocks(String name) {
        BlockTensor blocks = file.findBlocks(take(name));
        return blocks == null ? null : counted(blocks, blocks.bytes());
    }

    /** Returns a table with plain elements, which are read where they are. */
    Tensor table(String name) {
        Tensor table = file.tensor(take(name));
        return counted(table, table.shape().elements() * table.dtype().bytes());
    }

    private <T> T counted(T table, long bytes) {
        tableBytes += bytes;
        arena.expect(-bytes);
        return table;
    }

    private String take(String name) {
        String found = file.nameOf(name);
        if (!file.names().contains(found)) {
            throw new IllegalArgumentException(
                    found + ": missing; expected among the " + file.names().size() + " tensors");
        }
        used.add(found);
        return found;
    }

    /** Says that a tensor is of no use, though it may be there. */
    void ignore(String name) {
        used.add(file.nameOf(name));
    }

    /** Fails if a tensor is left over: it would mean something that is not computed. */
    void requireAllUsed() {
        Set<String> left = new TreeSet<>(file.names());
        left.removeAll(used);
        if (!left.isEmpty()) {
            throw Checks.fail(
                    "tensors",
                    left.size() + " of no use, such as "
                            + String.join(", ", left.stream().limit(MOST_NAMES).toList()),
                    "expected none");
        }
    }

    private static void requireShape(String name, Shape actual, Shape expected) {
        if (!actual.equals(expected)) {
            throw Checks.fail(name, "shape " + actual, "expected " + expected);
        }
    }
}
