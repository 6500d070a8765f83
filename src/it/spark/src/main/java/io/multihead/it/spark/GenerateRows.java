package io.multihead.it.spark;

import io.multihead.decoder.ChatMessage;
import io.multihead.decoder.GeneratedText;
import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.Session;
import io.multihead.decoder.Sessions;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Queue;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Row;
import org.apache.spark.util.TaskCompletionListener;

/** Appends the texts that a model generates from one column to the rows of a partition, and holds at most one batch of rows. */
final class GenerateRows implements MapPartitionsFunction<Row, Row> {
    private static final long serialVersionUID = 1;

    private final String model;
    private final int column;
    private final Generation generation;

    GenerateRows(String model, int column, Generation generation) {
        this.model = model;
        this.column = column;
        this.generation = generation;
    }

    @Override
    public Iterator<Row> call(Iterator<Row> rows) {
        LanguageModel shared = SharedModels.get(model);
        // sessions of this task only, since tasks compute at the same time; also freed if a limit ends the task
        Sessions sessions = shared.sessions(generation.sessions(shared.contextTokens()));
        TaskContext.get().addTaskCompletionListener((TaskCompletionListener) task -> sessions.close());
        return new Texts(rows, sessions);
    }

    /** Rows with their texts. */
    private final class Texts implements Iterator<Row> {
        private final Iterator<Row> rows;
        private final Sessions sessions;
        private final Queue<Row> ready = new ArrayDeque<>();

        Texts(Iterator<Row> rows, Sessions sessions) {
            this.rows = rows;
            this.sessions = sessions;
        }

        @Override
        public boolean hasNext() {
            return !ready.isEmpty() || rows.hasNext();
        }

        @Override
        public Row next() {
            if (!hasNext()) {
                throw new NoSuchElementException();
            }
            if (ready.isEmpty()) {
                generate();
            }
            return ready.remove();
        }

        private void generate() {
            List<Row> batch = new ArrayList<>();
            List<Session> open = new ArrayList<>();
            List<Boolean> prompted = new ArrayList<>();
            while (rows.hasNext() && open.size() < generation.batch()) {
                Row row = rows.next();
                batch.add(row);
                prompted.add(!row.isNullAt(column) && begin(row.getString(column), open));
            }
            List<GenerationOptions> options = Collections.nCopies(open.size(), generation.options());
            Iterator<GeneratedText> texts = sessions.generate(open, options).iterator();
            for (int i = 0; i < batch.size(); i++) {
                ready.add(RowValues.append(
                        batch.get(i), prompted.get(i) ? texts.next().text() : null));
            }
            open.forEach(Session::close);
        }

        /** Opens a session with a prompt. Returns false if the prompt has no token, since no text can follow it. */
        private boolean begin(String prompt, List<Session> open) {
            Session session = sessions.open();
            if (generation.chat()) {
                session.appendChat(List.of(ChatMessage.user(prompt)));
            } else {
                session.append(prompt);
            }
            if (session.length() == 0) {
                session.close();
                return false;
            }
            return open.add(session);
        }
    }
}
