package io.multihead.text;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.JsonObject;
import io.multihead.text.SpecialIds.AddedSpecialTokens;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The tokens with a special meaning, from {@code tokenizer.json} and {@code tokenizer_config.json}. The tokens that the first file puts
 * around a text apply, even if the second file states others, as in the reference.
 */
final class JsonSpecialIds {
    private final Vocabulary vocabulary;
    private final @Nullable JsonObject config;

    private JsonSpecialIds(Vocabulary vocabulary, @Nullable JsonObject config) {
        this.vocabulary = vocabulary;
        this.config = config;
    }

    static SpecialIds read(
            JsonObject file, @Nullable JsonObject config, Vocabulary vocabulary, int unknown, Set<Integer> stopTokens) {
        return new JsonSpecialIds(vocabulary, config).read(file, unknown, stopTokens);
    }

    private SpecialIds read(JsonObject file, int unknown, Set<Integer> stopTokens) {
        int begin = named("bos_token");
        int end = named("eos_token");
        Set<Integer> all = new LinkedHashSet<>(stopTokens);
        all.addAll(StopTokens.of(vocabulary));
        if (end != SpecialIds.NONE) {
            all.add(end);
        }
        AddedSpecialTokens added = AddedSpecialTokens.of(flag("add_bos_token", begin), flag("add_eos_token", end));
        for (JsonObject part : file.parts("post_processor", "processors")) {
            switch (part.text("type")) {
                case "ByteLevel" -> {}
                case "TemplateProcessing" -> {
                    int[] ends = template(part);
                    begin = ends[0] == SpecialIds.NONE ? begin : ends[0];
                    end = ends[1] == SpecialIds.NONE ? end : ends[1];
                    added = AddedSpecialTokens.of(ends[0] != SpecialIds.NONE, ends[1] != SpecialIds.NONE);
                }
                case "RobertaProcessing" -> {
                    begin = pair(part, "cls");
                    end = pair(part, "sep");
                    added = AddedSpecialTokens.BOTH;
                }
                default -> throw part.fail("type", "ByteLevel, TemplateProcessing or RobertaProcessing");
            }
        }
        return new SpecialIds(begin, end, unknown, named("pad_token"), all, added);
    }

    /** Returns the id of a token, which must equal the vocabulary's id. */
    private int pair(JsonObject part, String member) {
        List<?> pair = part.array(member);
        int id = pair.size() == 2 && pair.get(0) instanceof String name ? find(name) : SpecialIds.NONE;
        if (id == SpecialIds.NONE || !pair.get(1).equals((long) id)) {
            throw part.fail(member, "a token of the vocabulary and its id");
        }
        return id;
    }

    /** Returns the tokens that stand before and after a text. */
    private int[] template(JsonObject part) {
        int[] ends = {SpecialIds.NONE, SpecialIds.NONE};
        List<String> order = new ArrayList<>();
        for (Object element : part.array("single")) {
            JsonObject each = JsonObject.of("tokenizer.post_processor.single", element);
            if (each.has("Sequence")) {
                order.add("A");
            } else {
                int side = order.contains("A") ? 1 : 0;
                ends[side] = id(part, each.object("SpecialToken").text("id"));
                order.add(side == 0 ? "first" : "last");
            }
        }
        if (order.stream().distinct().count() < order.size() || !order.contains("A")) {
            throw part.fail("single", "sequence A with at most one token before and one after");
        }
        return ends;
    }

    /** Returns the id that a template gives a token, which must equal the vocabulary's id. */
    private int id(JsonObject part, String name) {
        JsonObject described = part.object("special_tokens").object(name);
        int id = find(name);
        if (id == SpecialIds.NONE || !described.array("ids").equals(List.of((long) id))) {
            throw described.fail("ids", "[" + id + "], the vocabulary's id of " + name);
        }
        return id;
    }

    /** Returns the id of a token that the configuration names, as text or as an object with a text. */
    private int named(String member) {
        if (config == null || !config.has(member)) {
            return SpecialIds.NONE;
        }
        String token = config.get(member) instanceof String text
                ? text
                : config.object(member).text("content");
        int id = find(token);
        if (id == SpecialIds.NONE) {
            throw Checks.fail(config.name() + "." + member, "\"" + token + "\"", "expected a token of the vocabulary");
        }
        return id;
    }

    private boolean flag(String member, int id) {
        return config != null && id != SpecialIds.NONE && config.flag(member, false);
    }

    private int find(@Nullable String token) {
        return find(vocabulary, token);
    }

    /** Returns the id of the first token with this text, or none. */
    static int find(Vocabulary vocabulary, @Nullable String token) {
        for (int id = 0; id < vocabulary.size(); id++) {
            if (vocabulary.token(id).equals(token)) {
                return id;
            }
        }
        return SpecialIds.NONE;
    }
}
