package io.multihead.decoder;

/** The templates of {@link ChatTemplate}'s constants, which write chats like the templates of the families' files. */
final class FamilyTemplates {
    static final String LLAMA_3 = """
            <|begin_of_text|>
            {%- for message in messages %}
                {{- '<|start_header_id|>' + message.role + '<|end_header_id|>\\n\\n' + message.content | trim + '<|eot_id|>' }}
            {%- endfor %}
            {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
            """;

    static final String LLAMA_3_1 = """
            <|begin_of_text|><|start_header_id|>system<|end_header_id|>
            {{- '\\n\\nCutting Knowledge Date: December 2023\\nToday Date: ' + (date_string or '26 Jul 2024') + '\\n\\n' }}
            {%- set given = messages[0].role == 'system' %}
            {{- (messages[0].content | trim if given else '') + '<|eot_id|>' }}
            {%- for message in (messages[1:] if given else messages) %}
                {{- '<|start_header_id|>' + message.role + '<|end_header_id|>\\n\\n' + message.content | trim + '<|eot_id|>' }}
            {%- endfor %}
            {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
            """;

    static final String CHATML = """
            {%- if messages[0].role != 'system' and default_system %}
                {{- '<|im_start|>system\\n' + default_system + '<|im_end|>\\n' }}
            {%- endif %}
            {%- for message in messages %}
                {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
            {%- endfor %}
            {{- '<|im_start|>assistant\\n' }}
            """;

    /** Tools and calls as Qwen 2.5, Qwen 3 and Hermes write them. */
    private static final String QWEN_TOOLS = """
            {%- macro signatures(tools) %}
                {{- '# Tools\\n\\nYou may call one or more functions to assist with the user query.\\n\\n' }}
                {{- 'You are provided with function signatures within <tools></tools> XML tags:\\n<tools>' }}
                {%- for tool in tools %}
                    {{- '\\n' + tool | tojson }}
                {%- endfor %}
                {{- '\\n</tools>\\n\\nFor each function call, return a json object with function name and arguments within ' }}
                {{- '<tool_call></tool_call> XML tags:\\n<tool_call>\\n' + open + '"name": <function-name>, "arguments": ' }}
                {{- '<args-json-object>' + close + '\\n</tool_call><|im_end|>\\n' }}
            {%- endmacro %}
            {%- macro calls(message, content) %}
                {%- for call in message.tool_calls or [] %}
                    {{- '\\n' if content or not loop.first }}
                    {{- '<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}
                    {{- call.function.arguments | tojson }}
                    {{- '}\\n</tool_call>' }}
                {%- endfor %}
            {%- endmacro %}
            {%- macro result(messages, index) %}
                {{- '<|im_start|>user' if index == 0 or messages[index - 1].role != 'tool' }}
                {{- '\\n<tool_response>\\n' + messages[index].content + '\\n</tool_response>' }}
                {{- '<|im_end|>\\n' if index + 1 == messages | length or messages[index + 1].role != 'tool' }}
            {%- endmacro %}
            """;

    static final String QWEN_2_5 = """
            {%- set open, close = '{{', '}}' %}
            {%- set system = 'You are Qwen, created by Alibaba Cloud. You are a helpful assistant.' %}
            """ + QWEN_TOOLS + """
            {%- set system = messages[0].content if messages[0].role == 'system' else system %}
            {{- '<|im_start|>system\\n' + system }}
            {{- '\\n\\n' + signatures(tools) if tools else '<|im_end|>\\n' }}
            {%- for message in messages %}
                {%- if message.role == 'tool' %}
                    {{- result(messages, loop.index0) }}
                {%- elif message.role == 'assistant' and message.tool_calls %}
                    {{- '<|im_start|>assistant' + ('\\n' + message.content if message.content else '') }}
                    {{- calls(message, true) + '<|im_end|>\\n' }}
                {%- elif message.role != 'system' or not loop.first %}
                    {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
                {%- endif %}
            {%- endfor %}
            {{- '<|im_start|>assistant\\n' }}
            """;

    static final String QWEN_3 = """
            {%- set open, close = '{', '}' %}
            """ + QWEN_TOOLS + """
            {%- set given = messages[0].role == 'system' %}
            {%- if tools %}
                {{- '<|im_start|>system\\n' + (messages[0].content + '\\n\\n' if given else '') + signatures(tools) }}
            {%- elif given %}
                {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
            {%- endif %}
            {%- set ns = namespace(last_query=messages | length - 1) %}
            {%- for message in messages[::-1] %}
                {%- set response = message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>') %}
                {%- if message.role == 'user' and not response %}
                    {%- set ns.last_query = messages | length - loop.index %}
                    {%- break %}
                {%- endif %}
            {%- endfor %}
            {%- for message in messages %}
                {%- if message.role == 'tool' %}
                    {{- result(messages, loop.index0) }}
                {%- elif message.role == 'assistant' %}
                    {%- set content, thought = message.content, message.reasoning_content or '' %}
                    {%- if message.reasoning_content is not defined and '</think>' in content %}
                        {%- set thought = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
                        {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
                    {%- endif %}
                    {{- '<|im_start|>assistant\\n' }}
                    {%- if loop.index0 > ns.last_query and (loop.last or thought) %}
                        {{- '<think>\\n' + thought.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
                    {%- else %}
                        {{- content }}
                    {%- endif %}
                    {{- calls(message, content) + '<|im_end|>\\n' }}
                {%- elif message.role == 'user' or not loop.first %}
                    {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
                {%- endif %}
            {%- endfor %}
            {{- '<|im_start|>assistant\\n' }}
            {%- if enable_thinking is defined and enable_thinking is false %}
                {{- '<think>\\n\\n</think>\\n\\n' }}
            {%- endif %}
            """;

    static final String GEMMA = """
            <bos>
            {%- set given = messages[0].role == 'system' %}
            {%- for message in (messages[1:] if given else messages) %}
                {%- if (message.role == 'user') != (loop.index0 % 2 == 0) %}
                    {{- raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}
                {%- endif %}
                {{- '<start_of_turn>' + ('model' if message.role == 'assistant' else message.role) + '\\n' }}
                {{- messages[0].content + '\\n\\n' if given and loop.first }}
                {{- message.content | trim + '<end_of_turn>\\n' }}
            {%- endfor %}
            {{- '<start_of_turn>model\\n' }}
            """;

    static final String PHI_4_MINI = """
            {%- for message in messages %}
                {{- '<|' + message.role + '|>' + message.content + '<|end|>' }}
            {%- endfor %}
            {{- '<|assistant|>' }}
            """;

    private FamilyTemplates() {}
}
