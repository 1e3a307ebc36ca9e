package groupproof.shim;

/** Holds an application's handler back while the application is paused. What passes is done before the gate can be shut. */
final class Gate {
    private boolean isShut;
    private boolean isOver;

    synchronized void shut() {
        isShut = true;
    }

    synchronized void open() {
        isShut = false;
        notifyAll();
    }

    /** Lets go what waits, without its work: who was paused at the end has taken no more. */
    synchronized void end() {
        isOver = isShut;
        notifyAll();
    }

    /** Runs `work` once the gate is open. */
    synchronized void pass(Runnable work) {
        try {
            while (isShut && !isOver) wait();
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt(); // the client wants its thread back
            return;
        }
        if (!isOver) work.run();
    }
}
