package io.multihead.internal.encoder.load;

import io.multihead.format.SafetensorsFolder;
import io.multihead.internal.base.Checks;
import io.multihead.internal.encoder.family.EncoderConfig;
import io.multihead.internal.encoder.family.EncoderNames;
import io.multihead.internal.load.Loading;
import io.multihead.internal.load.WeightSource;
import io.multihead.internal.load.Weights;
import io.multihead.text.EncoderTokenizer;
import io.multihead.text.Tokenizers;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * The weights of a folder under the names that an encoder has in transformers: {@code model.safetensors}, or the parts that
 * {@code model.safetensors.index.json} names. The encoder may be a part of a larger model, whose other weights are ignored.
 */
public final class Checkpoint {
    /** The form of names in checkpoints that were converted from TensorFlow. */
    private static final Map<String, String> OLDER =
            Map.of("LayerNorm.gamma", "LayerNorm.weight", "LayerNorm.beta", "LayerNorm.bias");

    private final EncoderNames names;
    private final String prefix;

    /** Names in the files by names in the encoder. */
    private final Map<String, String> weights = new LinkedHashMap<>();

    private Checkpoint(Set<String> stored, EncoderNames names) {
        this.names = names;
        prefix = prefix(stored);
        for (String each : stored) {
            String name = name(each);
            if (isEncoders(each, name)) {
                String other = weights.put(name, each);
                if (other != null) {
                    throw Checks.fail("weights", "both " + other + " and " + each, "expected one of them");
                }
            }
        }
    }

    /**
     * Reads the encoder of a folder, and its tokenizer; {@code labels} is the number of labels of a head that classifies sequences, or 0.
     */
    public static EncoderCore load(Loading loading, Path folder, EncoderConfig config, int labels) throws IOException {
        return ModelLoader.load(loading, () -> model(loading, folder, config, labels), () -> tokenizer(folder, config));
    }

    /** Reads the tokenizer of a transformer's folder; the model must have rows for its tokens. */
    private static EncoderTokenizer tokenizer(Path folder, EncoderConfig config) throws IOException {
        EncoderTokenizer tokenizer = Tokenizers.loadEncoder(folder);
        return Checks.in(folder, () -> EncoderCore.requireRows(tokenizer, config));
    }

    /** Takes every weight of the encoder. */
    private static EncoderModel model(Loading loading, Path folder, EncoderConfig config, int labels)
            throws IOException {
        SafetensorsFolder files = SafetensorsFolder.map(loading.arena(), folder);
        return Checks.in(files.path(), () -> {
            Checkpoint checkpoint = new Checkpoint(files.names(), config.names(labels > 0));
            Weights.Naming naming =
                    new Weights.Naming(checkpoint::stored, new LinkedHashSet<>(checkpoint.weights.values()));
            return new EncoderModel(
                    config, labels, new Weights(loading, loading.adapted(WeightSource.of(files)), naming));
        });
    }

    private String prefix(Set<String> stored) {
        Set<String> words = stored.stream()
                .filter(name -> name.endsWith(names.words()))
                .collect(Collectors.toCollection(TreeSet::new));
        if (words.size() > 1) {
            throw Checks.fail("weights", String.valueOf(words), "expected the weights of one encoder");
        }
        for (String word : words) {
            String found = word.substring(0, word.length() - names.words().length());
            if (!names.prefixes().contains(found)) {
                throw Checks.fail(
                        "tensor \"" + word + "\"", "begins with " + found, "expected one of " + names.prefixes());
            }
            return found;
        }
        return "";
    }

    /** Returns the name of a weight within the encoder. */
    private String name(String stored) {
        String name = stored.startsWith(prefix) ? stored.substring(prefix.length()) : stored;
        for (Map.Entry<String, String> older : OLDER.entrySet()) {
            if (name.endsWith(older.getKey())) {
                return name.substring(0, name.length() - older.getKey().length()) + older.getValue();
            }
        }
        return name;
    }

    /**
     * Returns whether a weight belongs to the encoder. If the names of the encoder have a prefix, a weight with neither this prefix nor the
     * name of a part of the encoder does not belong to it.
     */
    private boolean isEncoders(String stored, String name) {
        if (names.head().stream().anyMatch(name::startsWith)) {
            return true;
        }
        if (prefix.isEmpty()) {
            return !names.ignored().contains(name) && names.others().stream().noneMatch(name::startsWith);
        }
        return stored.startsWith(prefix)
                ? !names.ignored().contains(name)
                : names.parts().stream().anyMatch(name::startsWith);
    }

    /** Returns a weight's name in the files. */
    private String stored(String name) {
        return weights.getOrDefault(name, prefix + name);
    }
}
