package io.multihead.decoder;

import io.multihead.internal.load.WeightSource;
import java.util.List;
import java.util.Map;

/** A family of models: the configuration of its models, and the names of their weights. */
interface Family {
    /** Returns the names of the family in files. */
    List<String> names();

    /** Returns the tensors of a folder in the form that the model needs. */
    default WeightSource source(WeightSource folder) {
        return folder;
    }

    /** Reads a model's configuration; a setting that would change its results and is not implemented is an error that names it. */
    DecoderConfig configure(Settings settings);

    /**
     * Returns Hugging Face's names of a layer's weights, by the names that GGUF gives them, for names that differ from Llama's.
     */
    default Map<String, String> renamed() {
        return Map.of();
    }
}
