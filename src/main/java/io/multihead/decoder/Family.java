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

    /**
     * Reads a model's configuration. Fails if a setting would change the model's results and is not implemented; the error names the
     * setting.
     */
    DecoderConfig configure(Settings settings);

    /** Returns the names of weights in Hugging Face's models that differ from Llama's, by the names in GGUF files. */
    default Map<String, String> renamed() {
        return Map.of();
    }
}
