package io.multihead.it.springai;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.apache.catalina.Context;
import org.apache.catalina.Wrapper;
import org.apache.catalina.startup.Tomcat;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.http.server.reactive.ReactorHttpHandlerAdapter;
import org.springframework.web.context.support.AnnotationConfigWebApplicationContext;
import org.springframework.web.reactive.config.EnableWebFlux;
import org.springframework.web.server.adapter.WebHttpHandlerBuilder;
import org.springframework.web.servlet.DispatcherServlet;
import org.springframework.web.servlet.config.annotation.EnableWebMvc;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;
import reactor.netty.resources.LoopResources;

/** Servers with one controller on the loopback interface, as Spring Boot starts them. */
final class Servers {
    private Servers() {}

    /** A server. */
    interface Running extends AutoCloseable {
        int port();
    }

    /** The infrastructure of {@code @RestController} on servlets. */
    @Configuration
    @EnableWebMvc
    static class Mvc {}

    /** The infrastructure of {@code @RestController} without servlets. */
    @Configuration
    @EnableWebFlux
    static class Flux {}

    /** Starts Spring MVC on Tomcat. */
    static Running servlets(CheckHttp.Api controller) throws Exception {
        Path folder = Files.createTempDirectory("tomcat");
        AnnotationConfigWebApplicationContext spring = new AnnotationConfigWebApplicationContext();
        spring.register(Mvc.class);
        spring.addBeanFactoryPostProcessor(beans -> beans.registerSingleton("api", controller));
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(folder.toString());
        tomcat.setHostname("127.0.0.1");
        tomcat.setPort(0);
        tomcat.getConnector().setProperty("address", "127.0.0.1");
        Context context = tomcat.addContext("", null);
        Wrapper servlet = Tomcat.addServlet(context, "spring", new DispatcherServlet(spring));
        servlet.setAsyncSupported(true);
        servlet.setLoadOnStartup(1);
        context.addServletMappingDecoded("/", "spring");
        tomcat.start();
        return new Running() {
            @Override
            public int port() {
                return tomcat.getConnector().getLocalPort();
            }

            @Override
            public void close() throws Exception {
                tomcat.stop();
                tomcat.destroy();
                spring.close();
                try (Stream<Path> files = Files.walk(folder)) {
                    for (Path each :
                            (List<Path>) files.sorted(Comparator.reverseOrder()).toList()) {
                        Files.delete(each);
                    }
                }
            }
        };
    }

    /** Starts Spring WebFlux on an event loop with one thread. */
    static Running eventLoop(CheckHttp.Api controller) {
        AnnotationConfigApplicationContext spring = new AnnotationConfigApplicationContext();
        spring.register(Flux.class);
        spring.addBeanFactoryPostProcessor(beans -> beans.registerSingleton("api", controller));
        spring.refresh();
        LoopResources loop = LoopResources.create("loop", 1, true);
        DisposableServer server = HttpServer.create()
                .runOn(loop, false)
                .host("127.0.0.1")
                .port(0)
                .handle(new ReactorHttpHandlerAdapter(
                        WebHttpHandlerBuilder.applicationContext(spring).build()))
                .bindNow();
        return new Running() {
            @Override
            public int port() {
                return server.port();
            }

            @Override
            public void close() {
                server.disposeNow();
                loop.disposeLater().block();
                spring.close();
            }
        };
    }
}
