package io.multihead.decoder;

import io.multihead.format.Gguf;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.JsonObject;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The chat templates of a file. Some files have several named templates, such as a template for tools; the template for plain chats is the
 * default.
 */
final class FileTemplates {
    static final FileTemplates NONE = new FileTemplates(null, null, List.of());

    private static final String KEY = "tokenizer.chat_template";
    private static final String NAMES = "tokenizer.chat_templates";
    private static final String MEMBER = "chat_template";
    private static final String DEFAULT = "default";
    private static final String TOOLS = "tool_use";

    /** The template without a name, or the template named {@code default}; null for none. */
    private final @Nullable String standard;
    /** The template of chats with tools; null if these chats have the default, too. */
    private final @Nullable FileTemplates tools;
    /** The names of further templates. */
    private final List<String> others;
    /** The default template, once it has been requested; otherwise null. */
    private volatile @Nullable ChatTemplate parsed;

    private FileTemplates(@Nullable String standard, @Nullable FileTemplates tools, List<String> others) {
        this.standard = standard;
        this.tools = tools;
        this.others = List.copyOf(others);
    }

    static FileTemplates of(String jinja) {
        return new FileTemplates(jinja, null, List.of());
    }

    /** Reads the templates of a GGUF file, whose converter writes the default without its name. */
    static FileTemplates of(Gguf file) {
        List<String> names = file.find(NAMES).isEmpty() ? List.of() : file.strings(NAMES);
        String standard = file.findString(KEY).orElse(null);
        if (standard == null && names.contains(DEFAULT)) {
            standard = file.string(KEY + "." + DEFAULT);
        }
        FileTemplates tools =
                file.findString(KEY + "." + TOOLS).map(jinja -> of(jinja)).orElse(null);
        return new FileTemplates(standard, tools, names);
    }

    /** Reads the templates of a {@code tokenizer_config.json}: a text, or a list of objects that have names. */
    static FileTemplates of(JsonObject config) {
        if (!(config.get(MEMBER) instanceof List<?> list)) {
            return new FileTemplates(config.find(MEMBER), null, List.of());
        }
        String standard = null;
        FileTemplates tools = null;
        List<String> others = new ArrayList<>();
        for (int i = 0; i < list.size(); i++) {
            JsonObject named = JsonObject.of(config.name() + "." + MEMBER + "[" + i + "]", list.get(i));
            String name = named.text("name");
            String jinja = named.text("template");
            if (name.equals(DEFAULT)) {
                standard = jinja;
            } else {
                tools = name.equals(TOOLS) ? of(jinja) : tools;
                others.add(name);
            }
        }
        return new FileTemplates(standard, tools, others);
    }

    /**
     * Returns the template of chats. For chats with tools, it uses the file's template for tools if there is one. Fails if the file has no
     * default template; the error names the other templates.
     */
    ChatTemplate template() {
        ChatTemplate known = parsed;
        if (known == null && standard != null) {
            known = ChatTemplate.of(standard);
            known = tools == null ? known : known.withToolUse(tools::template);
            parsed = known;
        }
        if (known != null) {
            return known;
        }
        String actual = others.isEmpty() ? "absent" : "none but those named " + String.join(", ", others);
        String expected = others.isEmpty() ? "one in the file" : "one named default";
        throw Checks.fail(MEMBER, actual, "expected " + expected + ", or LanguageModel.withChatTemplate");
    }
}
