/** The tests of the management API, on a database at the other end of a connection. */
import './use-remote-databases.js';
import '../../management/access.test.js';
import '../../management/dns-records.test.js';
import '../../management/functions.test.js';
import '../../management/input.test.js';
import '../../management/usage-records.test.js';
import '../../management/zone-owners.test.js';
