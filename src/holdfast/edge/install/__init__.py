"""Install holdfast into the settings of agent hosts, and uninstall it byte for byte."""
