package io.multihead.text;

import io.multihead.internal.base.JsonObject;
import java.util.List;

/** The template of a {@code tokenizer.json} for two texts. */
final class PairTemplate {
    private static final int ROBERTA = 2;

    private PairTemplate() {}

    /** Returns how often the last token stands between two texts; the rest is around them as around one. */
    static int separators(JsonObject file, SpecialIds special) {
        boolean roberta = JsonParts.list(file, "post_processor", "processors").stream()
                .anyMatch(each -> "RobertaProcessing".equals(each.find("type")));
        return roberta ? ROBERTA : template(file, special);
    }

    private static int template(JsonObject file, SpecialIds special) {
        JsonObject part = JsonParts.list(file, "post_processor", "processors").stream()
                .filter(each -> "TemplateProcessing".equals(each.find("type")))
                .findFirst()
                .orElseThrow(() -> file.fail("post_processor", "TemplateProcessing"));
        List<?> elements = part.array("pair");
        int separators = elements.size() - 4;
        for (int i = 0; i < elements.size(); i++) {
            JsonObject element = JsonObject.of("tokenizer.post_processor.pair", elements.get(i));
            boolean first = i == 1;
            boolean sequence = first || i == elements.size() - 2;
            boolean fits = sequence
                    ? element.has("Sequence")
                            && element.object("Sequence").text("id").equals(first ? "A" : "B")
                    : element.has("SpecialToken") && id(part, element) == (i == 0 ? special.begin() : special.end());
            if (!fits || separators < 1) {
                throw part.fail("pair", "the first token, A, the last token at least once, B, and the last token");
            }
        }
        return separators;
    }

    private static int id(JsonObject part, JsonObject element) {
        String name = element.object("SpecialToken").text("id");
        List<?> ids = part.object("special_tokens").object(name).array("ids");
        return ids.size() == 1 && ids.get(0) instanceof Long id ? id.intValue() : SpecialIds.NONE;
    }
}
