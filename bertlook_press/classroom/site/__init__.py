"""The whole course as one folder for any web server, or none: decks, reading, exercises and a page to try sentences on."""
