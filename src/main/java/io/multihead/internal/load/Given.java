package io.multihead.internal.load;

import io.multihead.gemm.PackedWeights;
import io.multihead.gemm.WeightFormat;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/** All weights of a model by name: their bytes, and their form in a packed file. */
public final class Given {
    private static final String PANELS = ".panels";

    final Map<String, PackedWeights> matrices = new LinkedHashMap<>();
    /** Biases, norms and other small numbers. */
    final Map<String, Tensor> arrays = new LinkedHashMap<>();

    final Map<String, StoredWeight> tables = new LinkedHashMap<>();
    /** Sizes that a model has requested. */
    final Map<String, Shape> asked = new LinkedHashMap<>();

    Given() {}

    /** Returns the name that a layer's panels have in a packed file. */
    static String panels(String layer, WeightFormat format) {
        return layer + PANELS + (format == WeightFormat.F32 ? "" : suffix(format.name()));
    }

    /** Returns the name that the blocks of a table have in a packed file. */
    static String blocks(String table, BlockType type) {
        return table + suffix(type.name());
    }

    private static String suffix(String format) {
        return "." + format.toLowerCase(Locale.ROOT);
    }

    static WeightFormat format(String panels) {
        for (WeightFormat format : WeightFormat.values()) {
            if (format != WeightFormat.F32 && panels.endsWith(PANELS + suffix(format.name()))) {
                return format;
            }
        }
        return WeightFormat.F32;
    }

    /** Adds the contents of a packed file: panels, and all other tensors. */
    void put(String prefix, Map<String, Tensor> panels, Map<String, Tensor> others) {
        matrices.forEach(
                (name, weights) -> panels.put(prefix + panels(name, weights.format()), StoredPanels.of(weights)));
        arrays.forEach((name, array) -> others.put(prefix + name, array));
        tables.forEach((name, table) -> {
            BlockTensor blocks = table.blocks();
            if (blocks == null) {
                others.put(prefix + name, table.plain());
            } else {
                Shape bytes = Shape.of(blocks.rows(), blocks.rowBytes());
                Tensor memory = Tensor.view(blocks.memory().asSlice(blocks.offset(), blocks.bytes()), DType.I8, bytes);
                others.put(prefix + blocks(name, blocks.type()), memory);
            }
        });
    }

    /** Returns the number of bytes of all weights that are read from a mapped file, or of weights that are not. */
    public long bytes(boolean mapped) {
        long bytes = 0;
        for (PackedWeights weights : matrices.values()) {
            bytes += StoredPanels.of(weights).memory().isMapped() == mapped ? weights.bytes() : 0;
        }
        for (StoredWeight table : tables.values()) {
            bytes += table.isMapped() == mapped ? table.bytes() : 0;
        }
        for (Tensor array : arrays.values()) {
            bytes += mapped ? 0 : StoredWeight.of(array).bytes();
        }
        return bytes;
    }
}
