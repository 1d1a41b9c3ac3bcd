/** The client library: most of all code, and a file of its own, so that it does not hold up the activation. */

export * from 'vscode-languageclient/node';
