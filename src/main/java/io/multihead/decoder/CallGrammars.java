package io.multihead.decoder;

import io.multihead.grammar.Grammar;
import io.multihead.internal.toolcall.CallRules;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** How a model writes calls of tools. The last grammars are kept, since a grammar keeps what it has computed. Thread-safe. */
final class CallGrammars {
    private static final int MOST = 16;

    /** What a grammar is made of. */
    private record Key(ToolCallFormat format, List<ToolDefinition> tools, String thoughtEnd) {}

    private final Supplier<ChatTemplate> template;
    private @Nullable Optional<ToolCallFormat> format;
    /** In the order of their last use. */
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

    /** Returns the format of the template's calls; empty where it writes none, or others. */
    synchronized Optional<ToolCallFormat> format() {
        Optional<ToolCallFormat> found = format;
        if (found == null) {
            found = ToolCallFormat.of(template.get());
            format = found;
        }
        return found;
    }

    /** Returns the grammar of answers that are calls, one or more. */
    synchronized Grammar of(ToolCallFormat calls, List<ToolDefinition> tools, String thoughtEnd) {
        return known.computeIfAbsent(new Key(calls, tools, thoughtEnd), key -> {
            CallRules rules = calls.syntax().rules(ToolCallFormat.tools(tools)).begin(thoughtEnd);
            return Grammar.ofGbnf(rules.text(), rules.schemas(), rules.tokens());
        });
    }
}
