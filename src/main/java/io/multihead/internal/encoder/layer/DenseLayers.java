package io.multihead.internal.encoder.layer;

import io.multihead.internal.base.JsonObject;
import io.multihead.internal.load.Given;
import io.multihead.internal.load.Loading;
import io.multihead.internal.load.ModelFolder;
import io.multihead.internal.load.WeightSource;
import io.multihead.internal.load.Weights;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The Dense modules between pooling and normalization, in their order. Immutable and thread-safe.
 *
 * @param inputs elements of a pooled vector
 * @param layers the layers, each of which reads the result of the previous layer
 * @param weights the weights of the layers
 */
public record DenseLayers(int inputs, List<DenseLayer> layers, List<Given> weights) {
    /** The prefix of weights in a packed file. */
    public static final String PREFIX = "dense.";

    /** Returns no layers: the result is the pooled vector. */
    public static DenseLayers none(int inputs) {
        return new DenseLayers(inputs, List.of(), List.of());
    }

    /** Reads the modules' folders; weights are packed. */
    public static DenseLayers load(Loading loading, List<Path> folders, int inputs) throws IOException {
        List<DenseLayer> layers = new ArrayList<>();
        List<Given> all = new ArrayList<>();
        int length = inputs;
        for (Path folder : folders) {
            int before = length;
            DenseLayer.Config config =
                    ModelFolder.config(folder, json -> DenseLayer.requireInputs(DenseLayer.Config.of(json), before));
            String prefix = prefix(layers.size());
            layers.add(ModelFolder.copy(folder, files -> {
                Weights.Naming naming = new Weights.Naming(name -> name.substring(prefix.length()), files.names());
                Weights weights = new Weights(loading, WeightSource.of(files), naming);
                all.add(weights.given());
                DenseLayer layer = DenseLayer.take(config, weights, prefix);
                weights.requireAllUsed();
                return layer;
            }));
            length = config.outputs();
        }
        return new DenseLayers(inputs, List.copyOf(layers), List.copyOf(all));
    }

    /** Takes the layers of a packed file, and reads them in place. */
    public static DenseLayers takePacked(List<?> described, int inputs, Weights weights) {
        List<DenseLayer> layers = new ArrayList<>();
        int length = inputs;
        for (Object json : described) {
            DenseLayer.Config config =
                    DenseLayer.requireInputs(DenseLayer.Config.of(JsonObject.of("options.dense", json)), length);
            layers.add(DenseLayer.take(config, weights, prefix(layers.size())));
            length = config.outputs();
        }
        weights.requireAllUsed();
        return new DenseLayers(inputs, List.copyOf(layers), List.of(weights.given()));
    }

    private static String prefix(int index) {
        return PREFIX + index + ".";
    }

    /** Returns the layers' settings, for {@link #takePacked}. */
    public List<Map<String, Object>> toJson() {
        return layers.stream().map(layer -> layer.config().toJson()).toList();
    }

    public boolean isEmpty() {
        return layers.isEmpty();
    }

    /** Returns the number of elements of a vector. */
    public int outputs() {
        return layers.isEmpty() ? inputs : layers.getLast().linear().outputs();
    }

    /** Returns the number of bytes of weights that are mapped, or of weights that are not mapped. */
    public long bytes(boolean mapped) {
        return weights.stream().mapToLong(each -> each.bytes(mapped)).sum();
    }
}
