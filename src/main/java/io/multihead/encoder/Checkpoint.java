package io.multihead.encoder;

import io.multihead.format.SafetensorsFolder;
import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * The weights of a folder by the names that an encoder has in transformers: {@code model.safetensors}, or the parts that
 * {@code model.safetensors.index.json} names. The encoder may be a part of a larger model, whose other weights are ignored.
 */
final class Checkpoint {
    /** What an encoder is called in a model of transformers, or of a framework around it. */
    private static final List<String> PREFIXES = List.of("", "bert.", "roberta.", "model.");

    /** Parts of an encoder that are ignored: the head that sentence embeddings do not use, and positions as numbers. */
    private static final Set<String> IGNORED =
            Set.of("pooler.dense.weight", "pooler.dense.bias", "embeddings.position_ids");

    /** The same of a cross-encoder of BERT, which uses the head. */
    private static final Set<String> IGNORED_BESIDE_HEAD = Set.of("embeddings.position_ids");

    private static final String CLASSIFIER = "classifier.";
    /** A weight of RoBERTa's classifier, which has both layers of the head. */
    private static final String WHOLE_CLASSIFIER = CLASSIFIER + "out_proj.weight";

    /** What the parts of an encoder's names begin with. */
    private static final List<String> PARTS = List.of("embeddings.", "encoder.", "pooler.");

    /** What names of the heads of transformers' BERT models begin with. */
    private static final List<String> HEADS = List.of("cls.", "lm_head.", CLASSIFIER, "qa_outputs.");

    /** How names were written before PyTorch. */
    private static final Map<String, String> OLDER =
            Map.of("LayerNorm.gamma", "LayerNorm.weight", "LayerNorm.beta", "LayerNorm.bias");

    private final SafetensorsFolder files;
    private final String prefix;
    /** Whether the head that classifies sequences is part of the model. */
    private final boolean classifies;

    /** Names in the files by names in the encoder. */
    private final Map<String, String> weights = new LinkedHashMap<>();

    private Checkpoint(SafetensorsFolder files, boolean classifies) {
        this.files = files;
        this.classifies = classifies;
        prefix = prefix(files.names());
        for (String stored : files.names()) {
            String name = name(stored);
            if (isEncoders(stored, name)) {
                String other = weights.put(name, stored);
                if (other != null) {
                    throw Checks.fail("weights", "both " + other + " and " + stored, "expected one of them");
                }
            }
        }
    }

    /** Maps the files of an encoder's folder. */
    static Checkpoint map(Path folder, Arena arena) throws IOException {
        return map(folder, arena, false);
    }

    /** Maps the files of a cross-encoder's folder, which has a head that classifies sequences. */
    static Checkpoint mapClassifier(Path folder, Arena arena) throws IOException {
        return map(folder, arena, true);
    }

    private static Checkpoint map(Path folder, Arena arena, boolean classifies) throws IOException {
        SafetensorsFolder files = SafetensorsFolder.map(folder, arena);
        return Checks.in(files.path(), () -> new Checkpoint(files, classifies));
    }

    private static String prefix(Set<String> names) {
        Set<String> words = names.stream()
                .filter(name -> name.endsWith(BertParts.WORDS))
                .collect(Collectors.toCollection(TreeSet::new));
        if (words.size() > 1) {
            throw Checks.fail("weights", String.valueOf(words), "expected those of one encoder");
        }
        for (String word : words) {
            String prefix = word.substring(0, word.length() - BertParts.WORDS.length());
            if (!PREFIXES.contains(prefix)) {
                throw Checks.fail("weight \"" + word + "\"", "begins with " + prefix, "expected one of " + PREFIXES);
            }
            return prefix;
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

    /** Returns whether a weight is the encoder's: beside one with a prefix, whatever has neither the prefix nor such a name is not. */
    private boolean isEncoders(String stored, String name) {
        if (name.startsWith(CLASSIFIER)) {
            return classifies;
        }
        boolean pools = classifies && !files.names().contains(WHOLE_CLASSIFIER);
        Set<String> ignored = pools ? IGNORED_BESIDE_HEAD : IGNORED;
        if (prefix.isEmpty()) {
            return !ignored.contains(name) && HEADS.stream().noneMatch(name::startsWith);
        }
        return stored.startsWith(prefix)
                ? !ignored.contains(name)
                : PARTS.stream().anyMatch(name::startsWith);
    }

    /** Returns the encoder, which takes every weight of it. */
    BertModel model(BertConfig config) {
        return Checks.in(files.path(), () -> BertModel.of(config, new Weights(weights.keySet(), this::get)));
    }

    /** Returns the encoder and its head. */
    BertModel classifier(BertConfig config, int labels) {
        return Checks.in(
                files.path(), () -> BertModel.classifier(config, labels, new Weights(weights.keySet(), this::get)));
    }

    private Tensor get(String name) {
        String stored = weights.get(name);
        if (stored == null) {
            throw Checks.fail(
                    "tensor \"" + prefix + name + "\"",
                    "not in the file",
                    "expected it beside " + weights.keySet().stream().limit(10).toList());
        }
        return files.get(stored);
    }
}
