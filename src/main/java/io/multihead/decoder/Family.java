package io.multihead.decoder;

import io.multihead.internal.load.WeightSource;
import java.util.List;
import java.util.Map;

/** A family of models: how one of them is configured, and the names of its weights. */
interface Family {
    /** Returns the names by which files know the family. */
    List<String> names();

    /** Returns the tensors of a folder as the model takes them. */
    default WeightSource source(WeightSource folder) {
        return folder;
    }

    /** Reads a model's configuration; whatever would change its numbers and is not implemented is an error that names it. */
    DecoderConfig configure(Settings settings);

    /**
     * Returns Hugging Face's names of the weights of a layer, by the names that GGUF gives them, where it is another name than that of
     * Llama.
     */
    default Map<String, String> renamed() {
        return Map.of();
    }
}
