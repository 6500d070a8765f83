package io.multihead.text;

import io.multihead.internal.base.JsonObject;
import io.multihead.text.SentencePieceTokenizer.SpacePrefix;
import java.util.List;
import java.util.Optional;

/**
 * The normalizer and pre-tokenizer of a {@code tokenizer.json}. A part that no supported family has is an error that names the
 * part.
 */
final class JsonParts {
    private static final String SPACE = "\u2581";

    private JsonParts() {}

    /** Returns whether text is composed (NFC) first, which is the only supported change. */
    static boolean composes(JsonObject file) {
        List<JsonObject> parts = file.parts("normalizer", "normalizers");
        for (JsonObject part : parts) {
            part.requireType("NFC");
        }
        return !parts.isEmpty();
    }

    /** Returns the rule with which a byte-level file divides text. */
    static WordPattern words(JsonObject file) {
        List<JsonObject> parts = file.parts("pre_tokenizer", "pretokenizers");
        JsonObject bytes = parts.getLast();
        bytes.requireType("ByteLevel");
        bytes.require("add_prefix_space", false);
        boolean gpt2 = bytes.flag("use_regex", true);
        if (parts.size() == 1) {
            if (!gpt2) {
                throw bytes.fail("use_regex", "true where nothing else divides the text");
            }
            return WordPattern.GPT_2;
        }
        JsonObject first = parts.getFirst();
        if (parts.size() == 2
                && gpt2
                && first.text("type").equals("Digits")
                && first.flag("individual_digits", false)) {
            return WordPattern.SMOLLM;
        }
        if (parts.size() != 2 || gpt2 || !first.text("type").equals("Split")) {
            throw first.fail("type", "a regular expression that one of the families has, and then bytes alone");
        }
        return split(first);
    }

    private static WordPattern split(JsonObject split) {
        split.require("invert", false);
        split.require("behavior", "Isolated");
        JsonObject pattern = split.object("pattern");
        Optional<WordPattern> words = WordPattern.ofExpression(pattern.text("Regex"));
        return words.orElseThrow(() -> pattern.fail("Regex", "the expression of a family in WordPattern"));
    }

    /** Returns the places where a file of code points puts a space before text. */
    static SpacePrefix spaces(JsonObject file) {
        boolean replaced = false;
        boolean prefixed = false;
        for (JsonObject part : file.parts("normalizer", "normalizers")) {
            switch (part.text("type")) {
                case "Replace" -> {
                    part.object("pattern").require("String", " ");
                    requireSpace(part, "content");
                    replaced = true;
                }
                case "Prepend" -> {
                    requireSpace(part, "prepend");
                    prefixed = true;
                }
                default -> throw part.fail("type", "Replace or Prepend");
            }
        }
        SpacePrefix prefix = prefixed ? SpacePrefix.ALWAYS : SpacePrefix.NONE;
        for (JsonObject part : file.parts("pre_tokenizer", "pretokenizers")) {
            if (part.text("type").equals("Metaspace") && !replaced) {
                prefix = metaspace(part);
                replaced = true;
            } else if (!replaced || !isWithoutEffect(part)) {
                throw part.fail("type", "Metaspace that does not split, or nothing");
            }
        }
        if (!replaced) {
            throw file.fail("normalizer", "spaces to become U+2581, or tokens of bytes (ByteLevel)");
        }
        return prefix;
    }

    private static void requireSpace(JsonObject part, String member) {
        if (!part.text(member).equals(SPACE)) {
            throw part.fail(member, "U+2581");
        }
    }

    /** Returns whether a part splits texts at spaces after all spaces have been replaced, as in Gemma's files. */
    private static boolean isWithoutEffect(JsonObject part) {
        return part.text("type").equals("Split")
                && part.has("pattern")
                && " ".equals(part.object("pattern").get("String"));
    }

    private static SpacePrefix metaspace(JsonObject part) {
        requireSpace(part, "replacement");
        if (part.flag("split", true)) {
            throw part.fail("split", "false");
        }
        String scheme = part.find("prepend_scheme");
        return switch (scheme == null ? "always" : scheme) {
            case "always" -> SpacePrefix.ALWAYS_WITHOUT;
            case "first" -> SpacePrefix.FIRST_WITHOUT;
            case "never" -> SpacePrefix.NONE;
            default -> throw part.fail("prepend_scheme", "always, first or never");
        };
    }
}
