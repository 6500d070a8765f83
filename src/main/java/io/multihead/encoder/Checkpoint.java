package io.multihead.encoder;

import io.multihead.format.Safetensors;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Json;
import io.multihead.internal.base.JsonObject;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
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
    private static final String FILE = "model.safetensors";
    /** What an encoder is called in a model of transformers, or of a framework around it. */
    private static final List<String> PREFIXES = List.of("", "bert.", "model.");

    /** Parts of an encoder that are ignored: the head that sentence embeddings do not use, and positions as numbers. */
    private static final Set<String> IGNORED =
            Set.of("pooler.dense.weight", "pooler.dense.bias", "embeddings.position_ids");

    /** What the parts of an encoder's names begin with. */
    private static final List<String> PARTS = List.of("embeddings.", "encoder.", "pooler.");

    /** What names of the heads of transformers' BERT models begin with. */
    private static final List<String> HEADS = List.of("cls.", "classifier.", "qa_outputs.");

    /** How names were written before PyTorch. */
    private static final Map<String, String> OLDER =
            Map.of("LayerNorm.gamma", "LayerNorm.weight", "LayerNorm.beta", "LayerNorm.bias");

    /** Names that stand for a folder. */
    private static final Set<String> NO_FILES = Set.of("", ".", "..");

    /** A weight as its file has it. */
    private record Stored(Safetensors file, String name) {}

    private final Path path;
    private final String prefix;
    private final Map<String, Stored> weights = new LinkedHashMap<>();

    private Checkpoint(Path path, List<Safetensors> files) {
        this.path = path;
        prefix = prefix(files);
        for (Safetensors file : files) {
            for (String stored : file.names()) {
                String name = name(stored);
                if (isEncoders(stored, name)) {
                    Stored other = weights.put(name, new Stored(file, stored));
                    if (other != null) {
                        throw Checks.fail("weights", "both " + other.name + " and " + stored, "expected one of them");
                    }
                }
            }
        }
    }

    /** Maps the files of a folder. */
    static Checkpoint map(Path folder, Arena arena) throws IOException {
        Path single = folder.resolve(FILE);
        Path index = folder.resolve(FILE + ".index.json");
        if (Files.exists(single) || !Files.exists(index)) {
            Safetensors file = Safetensors.map(single, arena);
            return Checks.in(single, () -> new Checkpoint(single, List.of(file)));
        }
        Map<String, Safetensors> files = new LinkedHashMap<>();
        Map<String, String> parts =
                Checks.in(index, () -> new JsonObject("index", Json.object("index", Files.readAllBytes(index)))
                        .object("weight_map")
                        .texts());
        for (String part : new TreeSet<>(parts.values())) {
            files.put(part, Safetensors.map(Checks.in(index, () -> within(folder, part)), arena));
        }
        return Checks.in(index, () -> {
            parts.forEach((name, part) -> requireStored(name, part, files));
            return new Checkpoint(index, List.copyOf(files.values()));
        });
    }

    private static void requireStored(String name, String part, Map<String, Safetensors> files) {
        Safetensors file = files.get(part);
        if (file == null || !file.contains(name)) {
            throw Checks.fail("weight \"" + name + "\"", "not in " + part, "expected it there");
        }
    }

    /** Returns a file beside the index: a file must not choose which others are read. */
    private static Path within(Path folder, String name) {
        try {
            Path path = folder.getFileSystem().getPath(name);
            if (!path.isAbsolute() && path.getNameCount() == 1 && !NO_FILES.contains(name)) {
                return folder.resolve(path);
            }
        } catch (InvalidPathException malformed) {
            // falls through to the message for paths that leave the folder
        }
        throw Checks.fail("index.weight_map", name, "expected a file beside the index");
    }

    private static String prefix(List<Safetensors> files) {
        Set<String> words = files.stream()
                .flatMap(file -> file.names().stream())
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
        if (prefix.isEmpty()) {
            return !IGNORED.contains(name) && HEADS.stream().noneMatch(name::startsWith);
        }
        return stored.startsWith(prefix)
                ? !IGNORED.contains(name)
                : PARTS.stream().anyMatch(name::startsWith);
    }

    /** Returns the encoder, which takes every weight of it. */
    BertModel model(BertConfig config) {
        return Checks.in(path, () -> BertModel.of(config, new Weights(weights.keySet(), this::get)));
    }

    private Tensor get(String name) {
        Stored stored = weights.get(name);
        if (stored == null) {
            throw Checks.fail(
                    "tensor \"" + prefix + name + "\"",
                    "not in the file",
                    "expected it beside " + weights.keySet().stream().limit(10).toList());
        }
        return stored.file.get(stored.name);
    }
}
