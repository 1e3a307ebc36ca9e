package groupproof.shim;

/** The client, or this shim, has no such feature; the answer says why. */
public final class Unimplemented extends RuntimeException {
    public Unimplemented(String why) {
        super(why);
    }
}
