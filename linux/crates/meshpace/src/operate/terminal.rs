// SPDX-License-Identifier: GPL-2.0-only
//! Questions to who sits at the terminal. Where nobody does, nobody is waited for.
use std::io::{BufRead, IsTerminal, Write};

use crate::base::errors::Result;

/// Answers line by line; None: there is nobody, or he has left.
pub trait Answers {
    fn next(&mut self, question: &str) -> Option<String>;
}

pub struct Terminal;

impl Answers for Terminal {
    fn next(&mut self, question: &str) -> Option<String> {
        if !std::io::stdin().is_terminal() {
            return None;
        }
        let mut out = std::io::stdout();
        write!(out, "{question} ").and_then(|()| out.flush()).ok()?;
        let mut line = String::new();
        match std::io::stdin().lock().read_line(&mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(line.trim().to_string()),
        }
    }
}

/// The number of the choice, from 0; None: nobody chose. `show` writes lines.
pub fn choose(
    answers: &mut dyn Answers,
    show: &mut dyn FnMut(&str) -> Result<()>,
    question: &str,
    choices: &[String],
) -> Result<Option<usize>> {
    let mut shown = false;
    loop {
        // Nobody reads a list who is not there.
        let prompt = match shown {
            false => format!(
                "{question}\n{}Number (1 to {}):",
                choices
                    .iter()
                    .enumerate()
                    .fold(String::new(), |all, (n, choice)| format!(
                        "{all}  {}  {choice}\n",
                        n + 1
                    )),
                choices.len()
            ),
            true => "Number:".into(),
        };
        let Some(answer) = answers.next(&prompt) else {
            return Ok(None);
        };
        shown = true;
        match answer.parse::<usize>() {
            Ok(number) if (1..=choices.len()).contains(&number) => return Ok(Some(number - 1)),
            _ => show(&format!("'{answer}' is none of 1 to {}.\n", choices.len()))?,
        }
    }
}

/// Whether the answer is yes; None: nobody is there.
pub fn agrees(answers: &mut dyn Answers, question: &str) -> Option<bool> {
    let answer = answers.next(&format!("{question} [y/N]"))?;
    Some(["y", "yes"].contains(&answer.to_lowercase().as_str()))
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Somebody who has made up his mind.
    pub struct Script(pub Vec<&'static str>);

    impl Answers for Script {
        fn next(&mut self, _: &str) -> Option<String> {
            (!self.0.is_empty()).then(|| self.0.remove(0).to_string())
        }
    }

    #[test]
    fn who_errs_is_asked_again_and_who_leaves_is_not() {
        let choices = ["bat0".to_string(), "wg0".to_string()];
        let mut said = Vec::new();
        let mut show = |line: &str| {
            said.push(line.to_string());
            Ok(())
        };
        let mut ask = |script| choose(&mut Script(script), &mut show, "Which?", &choices).unwrap();
        assert_eq!(ask(vec!["0", "3", "bat0", "-1", "", "2"]), Some(1));
        assert_eq!(ask(vec!["7"]), None);
        assert_eq!(ask(vec![]), None);
        assert_eq!(said.len(), 6);
        assert_eq!(agrees(&mut Script(vec!["Y"]), "?"), Some(true));
        assert_eq!(agrees(&mut Script(vec![""]), "?"), Some(false));
        assert_eq!(agrees(&mut Script(vec![]), "?"), None);
    }
}
