/** `require('edgehost')`: the same module as for `import`, which Node loads since 20.19. Its types are in index.d.cts. */
module.exports = require('./bundle/index.js');
