package io.multihead.jmh.rounds;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class ChildrenTest {
    @Test
    @Timeout(value = 60, unit = TimeUnit.SECONDS)
    void endReachesProcessesOfProcesses() throws Exception {
        Children children = new Children();
        Process parent = children.start(new ProcessBuilder("sh", "-c", "sleep 600 & echo $!; wait"));
        BufferedReader output = parent.inputReader();
        ProcessHandle child =
                ProcessHandle.of(Long.parseLong(output.readLine())).orElseThrow();
        assertTrue(parent.isAlive() && child.isAlive());
        children.end();
        assertFalse(parent.isAlive());
        assertFalse(child.isAlive());
        assertThrows(InterruptedException.class, () -> children.await(parent), "no result of a process that was ended");
        assertThrows(InterruptedException.class, () -> children.start(new ProcessBuilder("true")));
    }

    @Test
    void statusIsThatOfTheProcess() throws Exception {
        Children children = new Children();
        assertEquals(3, children.await(children.start(new ProcessBuilder("sh", "-c", "exit 3"))));
    }
}
