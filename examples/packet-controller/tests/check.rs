//! Each check of the suite is a test. They need the program: `pip install fullpipe`, or its path in the environment variable `FULLPIPE`.

fullpipe_check::suite!("suite.toml");
