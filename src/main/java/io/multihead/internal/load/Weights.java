package io.multihead.internal.load;

import io.multihead.gemm.PackedWeights;
import io.multihead.gemm.WeightFormat;
import io.multihead.internal.base.Checks;
import io.multihead.model.EmbeddingTables;
import io.multihead.model.LinearGroup;
import io.multihead.model.PackedLinear;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Takes the weights of a model from a source, each by its name and sizes, and records all weights that it returned. Matrices are packed, in
 * their stored format or in another format; tables are read in place. Not thread-safe.
 */
public final class Weights {
    private static final String WEIGHT = ".weight";
    private static final String BIAS = ".bias";
    private static final int MOST_NAMES = 5;

    private final Loading loading;
    private final WeightSource source;
    private final Naming naming;
    private final Set<String> used = new HashSet<>();
    private final Given given = new Given();
    private int roundedInputs;

    /**
     * The mapping from a model's names to stored names.
     *
     * @param stored returns a weight's name in the source
     * @param own names of the source that the model must use; others are ignored
     */
    public record Naming(UnaryOperator<String> stored, Set<String> own) {}

    /** Takes weights from a source, for a model that is being loaded. */
    public Weights(Loading loading, WeightSource source, Naming naming) {
        this.loading = loading;
        this.source = source;
        this.naming = naming;
        loading.arena().expect(naming.own.stream().mapToLong(source::bytes).sum());
    }

    /** Takes weights from a source that has the model's own names and no others. */
    public Weights(Loading loading, WeightSource source) {
        this(loading, source, new Naming(name -> name, source.names()));
    }

    public Given given() {
        return given;
    }

    /** Returns whether there is a weight of a name. */
    public boolean has(String name) {
        boolean exists = source.contains(naming.stored.apply(name));
        if (exists) {
            shape(name); // a packed file stores the requested sizes
        }
        return exists;
    }

    /** Declares that a weight is not used, even if it exists. */
    public void ignore(String name) {
        used.add(naming.stored.apply(name));
    }

    /** Returns whether an adapter changes a weight. */
    public boolean isChanged(String name) {
        return source.isChanged(naming.stored.apply(name));
    }

    /** Fails unless a weight also exists under a second name, with the same values. */
    public void requireSame(String second, String first) {
        String of = naming.stored.apply(second);
        Tensor own = source.contains(of) ? plain(of) : null;
        Tensor other = plain(require(first));
        if (own == null || own.dtype() != other.dtype() || own.memory().mismatch(other.memory()) >= 0) {
            throw Checks.fail(
                    what(second),
                    "not that of " + naming.stored.apply(first),
                    "expected the same, as tie_word_embeddings says; versions of transformers use different ones");
        }
    }

    private Tensor plain(String stored) {
        return source.get(stored, source.shape(stored)).plain();
    }

    public WeightSource source() {
        return source;
    }

    /** Returns the names of the source that the model must use. */
    public Set<String> own() {
        return naming.own;
    }

    /** Returns the number of rows of a matrix, which only the file states. */
    public int outputs(String name) {
        return outputs(name, 2, "[outputs, inputs]");
    }

    /** Returns the number of rows of each matrix in a tensor of several matrices. */
    public int outputsOfEach(String name) {
        return outputs(name, 3, "[matrices, outputs, inputs]");
    }

    private int outputs(String name, int rank, String expected) {
        Shape shape = shape(name);
        if (shape.rank() != rank) {
            throw Checks.fail(what(name), "shape " + shape, "expected " + expected);
        }
        return Checks.fitsInt(shape.dim(rank - 2), what(name));
    }

    /** Returns the sizes of a weight. The weight must exist, and is not taken. */
    public Shape shape(String name) {
        Shape shape = source.shape(require(name));
        given.asked.put(name, shape);
        return shape;
    }

    /** Takes numbers of these sizes, such as a bias or the weights of a normalization, as a copy in f32. */
    public Tensor numbers(String name, long... dims) {
        Tensor copy = copy(name, dims);
        given.arrays.put(name, copy);
        return copy;
    }

    private Tensor copy(String name, long... dims) {
        StoredWeight found = take(name, Shape.of(dims));
        try (Arena temporary = Arena.ofConfined()) {
            return Tensor.of(found.numbers(temporary).toArray(), dims);
        }
    }

    /** Takes a layer: a weight {@code [outputs, inputs]} and optionally its bias. */
    public PackedLinear linear(String name, int outputs, int inputs, boolean hasBias) {
        PackedWeights weights = matrix(name + WEIGHT, outputs, inputs);
        return PackedLinear.of(weights, hasBias ? numbers(name + BIAS, outputs) : null);
    }

    /**
     * Takes layers with the same input and size, as one product if they have the same format.
     *
     * @param name the name of the product
     * @param parts the names of the layers
     */
    public LinearGroup group(String name, List<String> parts, int outputs, int inputs, boolean hasBias) {
        int[] each = new int[parts.size()];
        Arrays.fill(each, outputs);
        int all = Math.multiplyExact(parts.size(), outputs);
        if (panels(name) != null) {
            return LinearGroup.concatenated(linear(name, all, inputs, hasBias), each);
        }
        if (panels(parts.getFirst()) != null || !haveOneFormat(parts, outputs, inputs)) {
            Stream<PackedLinear> layers = parts.stream().map(part -> linear(part, outputs, inputs, hasBias));
            return LinearGroup.of(layers.toArray(PackedLinear[]::new));
        }
        // native, so that it is freed immediately: the garbage of a load would make the heap grow
        try (Arena temporary = Arena.ofShared()) {
            List<StoredWeight> found = parts.stream()
                    .map(part -> take(part + WEIGHT, Shape.of(outputs, inputs)))
                    .toList();
            StoredWeight fused = StoredWeight.concatenated(found, temporary);
            found.forEach(source::release);
            Tensor bias = hasBias ? biases(name, parts, outputs) : null;
            return LinearGroup.concatenated(PackedLinear.of(pack(name, fused), bias), each);
        }
    }

    private Tensor biases(String name, List<String> parts, int outputs) {
        Tensor all = Tensor.of(new float[parts.size() * outputs]);
        Tensor.concat(
                0, all, parts.stream().map(part -> copy(part + BIAS, outputs)).toArray(Tensor[]::new));
        given.arrays.put(name + BIAS, all);
        return all;
    }

    private boolean haveOneFormat(List<String> parts, int outputs, int inputs) {
        return loading.format() != null
                || parts.stream()
                                .map(part -> like(part + WEIGHT, Shape.of(outputs, inputs))
                                        .format())
                                .distinct()
                                .count()
                        == 1;
    }

    /** Takes a matrix {@code [outputs, inputs]} and packs it. */
    public PackedWeights matrix(String name, long outputs, long inputs) {
        return rows(name, Shape.of(outputs, inputs), 0, outputs);
    }

    /** Takes some rows of a matrix that consists of several matrices, and packs them. */
    public PackedWeights rows(String name, Shape whole, long from, long to) {
        String layer = stem(name) + (to - from == whole.dim(0) ? "" : "." + from);
        String packed = panels(layer);
        if (packed != null) {
            return mapped(layer, packed, whole.dim(1), to - from);
        }
        return packed(name, layer, take(name, whole).rows(from, to));
    }

    /** Takes some rows of one matrix in a tensor of several matrices, and packs them. */
    public PackedWeights rowsOf(String name, Shape whole, int index, long from, long to) {
        String layer = stem(name) + "." + index + "." + from;
        String packed = panels(layer);
        if (packed != null) {
            return mapped(layer, packed, whole.dim(2), to - from);
        }
        return packed(name, layer, take(name, whole).select(index).rows(from, to));
    }

    private PackedWeights packed(String name, String layer, StoredWeight part) {
        PackedWeights weights = Checks.in(what(name), () -> pack(layer, part));
        source.release(part);
        return weights;
    }

    /** Packs a weight {@code [outputs, inputs]}. */
    private PackedWeights pack(String layer, StoredWeight weight) {
        WeightFormat format = loading.format() == null ? weight.format() : loading.format();
        BlockTensor blocks = weight.blocks();
        if (blocks != null && weight.format() == format) {
            return given(layer, PackedWeights.ofOutputRows(loading.cpu(), loading.arena(), blocks));
        }
        try (Arena temporary = Arena.ofShared()) {
            Tensor numbers = weight.numbers(temporary);
            return given(layer, PackedWeights.ofOutputRows(loading.cpu(), loading.arena(), numbers, format));
        }
    }

    private PackedWeights given(String layer, PackedWeights packed) {
        boolean rounds = loading.eightBitInputs() && packed.format().allowsEightBitInputs();
        roundedInputs += rounds ? 1 : 0;
        PackedWeights weights = rounds ? packed.withEightBitInputs() : packed;
        given.matrices.put(layer, weights);
        return weights;
    }

    private PackedWeights mapped(String layer, String packed, long inputs, long outputs) {
        WeightFormat format = Given.format(packed);
        Tensor panels = source.get(naming.stored.apply(packed), Shape.of()).numbers(loading.arena());
        used.add(naming.stored.apply(packed));
        loading.arena().expect(-StoredWeight.of(panels).bytes());
        return Checks.in(what(packed), () -> given(layer, StoredPanels.weights(panels, format, inputs, outputs)));
    }

    /** Returns the name of the panels of a layer, or null if the source has none. */
    private @Nullable String panels(String layer) {
        for (WeightFormat format : WeightFormat.values()) {
            String name = Given.panels(layer, format);
            if (source.contains(naming.stored.apply(name))) {
                return name;
            }
        }
        return null;
    }

    private static String stem(String name) {
        return name.endsWith(WEIGHT) ? name.substring(0, name.length() - WEIGHT.length()) : name;
    }

    /** Takes the word embedding table. Null sizes allow any sizes. */
    public EmbeddingTables words(String name, @Nullable Shape sizes) {
        return words(name, sizes == null ? shape(name) : sizes, false);
    }

    /** Takes the word embedding table of a model that only sums rows; its elements may be integers. */
    public EmbeddingTables summedWords(String name, long rows, long columns) {
        return words(name, Shape.of(rows, columns), true);
    }

    private EmbeddingTables words(String name, Shape sizes, boolean mayBeIntegers) {
        StoredWeight found = packedBlocks(name, sizes);
        WeightFormat format = loading.format();
        if (found == null) {
            StoredWeight stored = take(name, sizes, mayBeIntegers);
            if (format != null && format != stored.format()) {
                found = Checks.in(what(name), () -> rounded(stored, format));
                source.release(stored);
            } else {
                found = lasting(stored);
            }
        }
        given.tables.put(name, found);
        BlockTensor blocks = found.blocks();
        return blocks == null ? EmbeddingTables.of(found.plain()) : EmbeddingTables.of(blocks);
    }

    /** Returns a table that is read in place, or a copy if the memory of the table does not last as long as the model. */
    private StoredWeight lasting(StoredWeight table) {
        if (source.isLasting()) {
            loading.arena().expect(-table.bytes());
            return table;
        }
        StoredWeight copy = StoredWeight.of(
                table.plain().copy(loading.arena(), table.plain().dtype()));
        source.release(table);
        return copy;
    }

    private StoredWeight rounded(StoredWeight weight, WeightFormat format) {
        try (Arena temporary = Arena.ofShared()) {
            Tensor numbers = weight.numbers(temporary);
            return switch (format) {
                case F32 -> StoredWeight.of(numbers.copy(loading.arena(), DType.F32));
                case BF16 -> StoredWeight.of(numbers.copy(loading.arena(), DType.BF16));
                case F16 -> StoredWeight.of(numbers.copy(loading.arena(), DType.F16));
                default ->
                    StoredWeight.of(BlockTensor.quantize(loading.arena(), numbers, BlockType.valueOf(format.name())));
            };
        }
    }

    /** Returns the blocks of a table in a packed file, or null. */
    private @Nullable StoredWeight packedBlocks(String name, Shape sizes) {
        for (BlockType type : BlockType.values()) {
            String blocks = Given.blocks(name, type);
            if (source.contains(naming.stored.apply(blocks))) {
                Shape bytes = Shape.of(sizes.dim(0), sizes.dim(1) / type.elements() * type.bytes());
                Tensor memory = take(blocks, bytes, true).numbers(loading.arena());
                long offset = memory.offset() * memory.dtype().bytes();
                return StoredWeight.of(BlockTensor.view(memory.memory(), type, sizes, offset));
            }
        }
        return null;
    }

    /** Takes a table other than the word embedding table. Its rows are read in place, or in f32 if they are blocks. */
    public Tensor table(String name, long rows, long columns) {
        Tensor table = lasting(take(name, Shape.of(rows, columns))).numbers(loading.arena());
        given.tables.put(name, StoredWeight.of(table));
        return table;
    }

    private StoredWeight take(String name, Shape expected) {
        return take(name, expected, false);
    }

    private StoredWeight take(String name, Shape expected, boolean mayBeIntegers) {
        StoredWeight found = checked(name, source.get(require(name), expected), expected, mayBeIntegers);
        used.add(naming.stored.apply(name));
        return found;
    }

    private StoredWeight like(String name, Shape expected) {
        return checked(name, source.like(require(name), expected), expected, false);
    }

    private StoredWeight checked(String name, StoredWeight found, Shape expected, boolean mayBeIntegers) {
        if (!found.shape().equals(expected) || !found.isFloating() && !mayBeIntegers) {
            String numbers = mayBeIntegers ? "numbers" : "floating numbers";
            throw Checks.fail(what(name), found.toString(), "expected " + numbers + " of shape " + expected);
        }
        return found;
    }

    private String require(String name) {
        String stored = naming.stored.apply(name);
        if (!source.contains(stored)) {
            throw Checks.fail(what(name), "not in the file", "expected it beside " + some(naming.own));
        }
        return stored;
    }

    private String what(String name) {
        return "tensor \"" + naming.stored.apply(name) + "\"";
    }

    private static String some(Set<String> names) {
        List<String> first = names.stream().limit(MOST_NAMES).toList();
        return names.size() > MOST_NAMES ? names.size() + ", such as " + first : first.toString();
    }

    /**
     * Fails if a weight is unused, because its effect would not be computed. It also fails if inputs must be rounded and no matrix can round
     * them.
     */
    public void requireAllUsed() {
        Set<String> left = new TreeSet<>(naming.own);
        left.removeAll(used);
        if (!left.isEmpty()) {
            String some = String.join(", ", left.stream().limit(MOST_NAMES).toList());
            throw Checks.fail("tensors", left.size() + " of no use, such as " + some, "expected none");
        }
        if (loading.eightBitInputs() && roundedInputs == 0) {
            throw Checks.fail(
                    "eightBitInputs", "no weights in Q4_0, Q4_1 or Q4_K", "expected at least one such weight");
        }
    }
}
