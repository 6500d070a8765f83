package io.multihead.it.server;

import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.JsonValue;
import com.openai.core.http.StreamResponse;
import com.openai.errors.BadRequestException;
import com.openai.models.FunctionDefinition;
import com.openai.models.FunctionParameters;
import com.openai.models.chat.completions.ChatCompletion;
import com.openai.models.chat.completions.ChatCompletionChunk;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.chat.completions.ChatCompletionToolChoiceOption;
import dev.langchain4j.model.openai.OpenAiChatModel;
import io.multihead.decoder.FamilyModel;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.springframework.ai.openai.OpenAiChatOptions;

/** Calls a server in a separate process with the clients of other projects. */
public final class Check {
    private Check() {}

    /** Runs all checks, and fails if an answer differs from another client's. */
    public static void main(String[] arguments) throws IOException, InterruptedException {
        Path file = Files.createTempDirectory("server").resolve("small.gguf");
        FamilyModel.writeChat(file, FamilyModel.TOOL_TEMPLATE, 1024);
        try (ServerProcess server = ServerProcess.start(file)) {
            String url = server.url();
            String text = sdk(url);
            require(text.equals(langchain4j(url)), "langchain4j's answer is that of OpenAI's SDK");
            require(text.equals(springAi(url)), "and so is Spring AI's");
            require(server.stop() != 137, "the server ends by itself");
        } finally {
            Files.delete(file);
            Files.delete(file.getParent());
        }
    }

    private static String sdk(String url) {
        OpenAIClient client =
                OpenAIOkHttpClient.builder().baseUrl(url).apiKey("none").build();
        ChatCompletionCreateParams chat = chat().build();
        ChatCompletion answer = client.chat().completions().create(chat);
        String text = answer.choices().getFirst().message().content().orElseThrow();
        require(answer.usage().orElseThrow().completionTokens() > 0, "tokens are counted");

        StringBuilder streamed = new StringBuilder();
        try (StreamResponse<ChatCompletionChunk> chunks =
                client.chat().completions().createStreaming(chat)) {
            chunks.stream()
                    .flatMap(chunk -> chunk.choices().stream())
                    .forEach(choice -> choice.delta().content().ifPresent(streamed::append));
        }
        require(streamed.toString().equals(text), "a stream has the same text");

        ChatCompletion called = client.chat()
                .completions()
                .create(chat().maxCompletionTokens(100)
                        .addFunctionTool(FunctionDefinition.builder()
                                .name("f")
                                .parameters(FunctionParameters.builder()
                                        .putAdditionalProperty("type", JsonValue.from("object"))
                                        .putAdditionalProperty(
                                                "properties",
                                                JsonValue.from(Map.of("a", Map.of("enum", List.of(1, 2)))))
                                        .putAdditionalProperty("required", JsonValue.from(List.of("a")))
                                        .putAdditionalProperty("additionalProperties", JsonValue.from(false))
                                        .build())
                                .build())
                        .toolChoice(ChatCompletionToolChoiceOption.Auto.REQUIRED)
                        .build());
        var call =
                called.choices().getFirst().message().toolCalls().orElseThrow().getFirst();
        require(call.asFunction().function().name().equals("f"), "a tool is called");
        require(
                call.asFunction().function().arguments().replace(" ", "").matches("\\{\"a\":[12]\\}"),
                "by its schema: " + call);

        try {
            client.chat().completions().create(chat().topLogprobs(3).build());
            throw new IllegalStateException("top_logprobs was accepted without logprobs");
        } catch (BadRequestException refused) {
            require(refused.param().orElse("").equals("top_logprobs"), "an error names the parameter: " + refused);
        }
        probabilities(client);
        require(client.models().list().data().getFirst().id().equals("small"), "models are listed");
        return text;
    }

    private static void probabilities(OpenAIClient client) {
        var probable = client.chat()
                .completions()
                .create(chat().logprobs(true).topLogprobs(3).build());
        var token = probable.choices()
                .getFirst()
                .logprobs()
                .orElseThrow()
                .content()
                .orElseThrow()
                .getFirst();
        require(token.topLogprobs().size() == 3, "a token comes with three others: " + token);
    }

    private static ChatCompletionCreateParams.Builder chat() {
        return ChatCompletionCreateParams.builder()
                .model("small")
                .addUserMessage("ab")
                .seed(5)
                .maxCompletionTokens(20);
    }

    private static String langchain4j(String url) {
        return OpenAiChatModel.builder()
                .baseUrl(url)
                .apiKey("none")
                .modelName("small")
                .seed(5)
                .maxCompletionTokens(20)
                .build()
                .chat("ab");
    }

    private static String springAi(String url) {
        OpenAiChatOptions options = OpenAiChatOptions.builder()
                .baseUrl(url)
                .apiKey("none")
                .model("small")
                .seed(5)
                .maxCompletionTokens(20)
                .build();
        return org.springframework.ai.openai.OpenAiChatModel.builder()
                .options(options)
                .build()
                .call("ab");
    }

    static void require(boolean holds, String what) {
        if (!holds) {
            throw new IllegalStateException("not so: " + what);
        }
        System.out.println("ok: " + what);
    }
}
