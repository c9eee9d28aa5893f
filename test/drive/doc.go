// Package drive speaks to a server for tests: a raw client whose methods fail the test instead of returning
// an error, messages decoded from polls with every checksum verified, and topics that know their own ids.
//
// What a test wants to see refused it asks of the embedded raw client and hands the error to Want.
package drive
