package io.multihead.internal.load;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.internal.base.Json;
import io.multihead.internal.base.JsonObject;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

class PeftSettingsTest {
    private static PeftSettings read(String... members) {
        String json = "{\"peft_type\":\"LORA\",\"r\":2,\"lora_alpha\":4," + String.join(",", members) + "}";
        return PeftSettings.read(
                new JsonObject("adapter", Json.object("adapter", json.getBytes(StandardCharsets.UTF_8))));
    }

    /** PEFT also uses the first pattern that matches. */
    @Test
    void theFirstPatternThatFitsCounts() {
        String all = "\"q_proj\":%d";
        String one = "\"layers.0.q_proj\":%d";
        String other = "\"0.q_proj\":%d";
        for (List<String> order : List.of(
                List.of(all, one, other),
                List.of(all, other, one),
                List.of(one, all, other),
                List.of(one, other, all),
                List.of(other, one, all),
                List.of(other, all, one))) {
            String pattern = String.join(",", order).formatted(3, 5, 7);
            PeftSettings settings = read("\"rank_pattern\":{" + pattern + "}", "\"alpha_pattern\":{" + pattern + "}");
            assertEquals(3, settings.rankOf("model.layers.0.q_proj"), pattern);
            assertEquals(3, settings.alphaOf("model.layers.0.q_proj"), pattern);
            assertEquals(1, settings.scaleOf("model.layers.0.q_proj"), pattern);
            assertEquals(2, settings.rankOf("model.layers.0.v_proj"), pattern);
        }
    }
}
