package io.multihead.demo.serve;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.Session;
import io.multihead.decoder.Sessions;
import io.multihead.model.Block;
import io.multihead.model.SelfAttention;
import io.multihead.text.TextStream;
import io.multihead.text.TokenType;
import io.multihead.text.Tokenizer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Answers {@code /attention}, which is not part of OpenAI's protocol, with the attention weights of a token.
 * Thread-safe.
 */
final class AttentionApi {
    private final String name;
    private final LanguageModel model;
    private final Sessions sessions;
    private final Room room;
    /** The number of heads of each layer with softmax attention. */
    private final Map<Integer, Integer> heads = new TreeMap<>();

    AttentionApi(String name, LanguageModel model, Sessions sessions, Room room) {
        this.name = name;
        this.model = model;
        this.sessions = sessions;
        this.room = room;
        List<Block> blocks = model.transformer().blocks();
        for (int layer = 0; layer < blocks.size(); layer++) {
            int index = layer;
            blocks.get(layer).sublayers().stream()
                    .map(each -> each.part())
                    .filter(SelfAttention.class::isInstance)
                    .findFirst()
                    .ifPresent(part -> heads.put(index, ((SelfAttention) part).heads()));
        }
    }

    /** Returns the model, whether it has a chat template, and its layers with attention. */
    JsonNode layers() {
        ObjectNode root = JsonNodeFactory.instance.objectNode().put("model", name);
        root.put("chat", hasTemplate()).put("context", sessions.contextTokens());
        ArrayNode layers = root.putArray("layers");
        heads.forEach((layer, count) -> layers.addObject().put("layer", layer).put("heads", count));
        return root;
    }

    private boolean hasTemplate() {
        try {
            model.chatTemplate();
            return true;
        } catch (IllegalArgumentException none) {
            return false;
        }
    }

    /** Returns the weights of one token of a text, in some layers. */
    JsonNode weights(Fields fields) throws InterruptedException {
        int[] ids = fields.integers("tokens", 0, model.vocabularySize() - 1, sessions.contextTokens());
        String prompt = fields.text("prompt", "");
        if (ids.length > 0 == !prompt.isEmpty()) {
            throw fields.wrong("tokens", "expected either tokens or a prompt");
        }
        int[] layers = fields.integers("layers", 0, Integer.MAX_VALUE, heads.size());
        for (int layer : layers) {
            if (!heads.containsKey(layer)) {
                throw fields.wrong("layers", layer + " has no attention; expected some of " + heads.keySet());
            }
        }
        long asked = fields.integer("position", -1, Integer.MAX_VALUE, -1);
        fields.end();
        int[] chosen = layers.length > 0
                ? layers
                : heads.keySet().stream().mapToInt(Integer::intValue).toArray();
        room.enter();
        try (Session session = sessions.open()) {
            if (ids.length == 0) {
                session.append(prompt);
            } else {
                session.append(ids);
            }
            int[] all = session.tokens();
            if (all.length == 0) {
                throw fields.wrong("prompt", "\"" + prompt + "\" has no tokens; expected at least one");
            }
            int position = asked < 0 ? all.length - 1 : (int) asked;
            if (position >= all.length) {
                throw fields.wrong("position", position + "; expected fewer than the " + all.length + " tokens");
            }
            float[][][] weights = session.truncate(position + 1).attention(chosen);
            ObjectNode root = JsonNodeFactory.instance.objectNode().put("position", position);
            ArrayNode tokens = root.putArray("tokens");
            texts(all).forEach(tokens::add);
            ArrayNode names = root.putArray("layers");
            ArrayNode written = root.putArray("weights");
            for (int i = 0; i < chosen.length; i++) {
                names.add(chosen[i]);
                ArrayNode ofLayer = written.addArray();
                for (float[] row : weights[i]) {
                    ArrayNode ofHead = ofLayer.addArray();
                    for (float weight : row) {
                        ofHead.add(weight);
                    }
                }
            }
            return root;
        } finally {
            room.leave();
        }
    }

    /** Returns the texts of tokens, which can be joined to the text. The text of a control token is its name. */
    private List<String> texts(int[] ids) {
        Tokenizer tokenizer = model.tokenizer();
        TextStream stream = new TextStream(tokenizer);
        List<String> texts = new ArrayList<>();
        for (int id : ids) {
            boolean control = tokenizer.type(id) == TokenType.CONTROL;
            texts.add(control ? stream.end() + tokenizer.token(id) : stream.append(id));
        }
        return texts;
    }
}
