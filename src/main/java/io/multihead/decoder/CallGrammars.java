package io.multihead.decoder;

import io.multihead.grammar.Grammar;
import io.multihead.internal.base.Checks;
import io.multihead.internal.toolcall.CallRules;
import io.multihead.internal.toolcall.Tool;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The notation in which a model writes calls of tools. The most recently used grammars are kept, because a grammar keeps its computed
 * states. Thread-safe.
 */
final class CallGrammars {
    private static final int MOST = 16;

    /**
     * The sources of a grammar: calls of tools if there are any, JSON that conforms to the schema unless the schema is empty, and text
     * before calls if {@code text} is true. All of them follow the end of a thought.
     */
    record Key(
            Optional<ToolCallFormat> format,
            List<ToolDefinition> tools,
            String thoughtEnd,
            String schema,
            boolean text) {}

    private final Supplier<ChatTemplate> template;
    private @Nullable Optional<ToolCallFormat> format;
    /** The known grammars, in the order of their last use. */
    private final Map<Key, Grammar> known = new LinkedHashMap<>(MOST, 0.75F, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Key, Grammar> eldest) {
            return size() > MOST;
        }
    };

    CallGrammars(Supplier<ChatTemplate> template) {
        this.template = template;
    }

    /** Returns the format of the template's calls; empty if the template writes no calls or calls in an unknown format. */
    synchronized Optional<ToolCallFormat> format() {
        Optional<ToolCallFormat> found = format;
        if (found == null) {
            found = ToolCallFormat.of(template.get());
            format = found;
        }
        return found;
    }

    synchronized Grammar of(Key key) {
        return known.computeIfAbsent(key, CallGrammars::compile);
    }

    private static Grammar compile(Key key) {
        if (key.tools().isEmpty() && key.thoughtEnd().isEmpty()) {
            return Grammar.ofJsonSchema(key.schema());
        }
        List<Tool> tools = ToolCallFormat.tools(key.tools());
        CallRules rules = tools.isEmpty()
                ? new CallRules()
                : Checks.in("tools", () -> key.format().orElseThrow().syntax().rules(tools));
        if (key.text()) {
            Checks.in("tools", () -> {
                rules.beginText(key.thoughtEnd());
                return rules;
            });
        } else {
            rules.begin(key.thoughtEnd(), !tools.isEmpty(), key.schema());
        }
        try {
            return Checks.in(
                    "tools", () -> Grammar.ofGbnf(rules.text(), rules.schemas(), rules.tokens(), rules.stringMarks()));
        } catch (IllegalArgumentException wrong) {
            requireSchemas(key);
            throw wrong;
        }
    }

    /** Fails if a schema alone has no grammar. This error names the tool instead of a rule of the grammar. */
    private static void requireSchemas(Key key) {
        for (ToolDefinition tool : key.tools()) {
            Checks.in("tools." + tool.name() + ".parameters", () -> Grammar.ofJsonSchema(tool.parameters()));
        }
        if (!key.schema().isEmpty()) {
            Checks.in("schema", () -> Grammar.ofJsonSchema(key.schema()));
        }
    }
}
