import { conformance } from 'groupproof/node-test'

conformance(['node', 'shim.mjs'], { options: ['--only', 'heartbeat/classic/illegal-generation'] })
